// Maps times to positions on the timeline, in percent. Pure.

export type TimeScale = ReturnType<typeof timeScale>

const TICK_SECONDS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400,
]
const MAX_TICKS = 6

export function timeScale(from: number, to: number, now: number) {
  const length = Math.max(to - from, 100)
  const percent = (time: number) => Math.min(100, Math.max(0, ((time - from) / length) * 100))
  return {
    /** Where a span starts, and how wide it is. */
    span(start: string, end: string | null) {
      const left = percent(Date.parse(start))
      return { left, width: Math.max(0, percent(end === null ? now : Date.parse(end)) - left) }
    },
    ticks: ticksOf(length).map((ms) => ({ at: (ms / length) * 100, label: tickLabel(ms / 1_000) })),
  }
}

function ticksOf(length: number): number[] {
  const step = (TICK_SECONDS.find((seconds) => length / (seconds * 1_000) <= MAX_TICKS) ?? 604_800) * 1_000
  return Array.from({ length: Math.floor((length * 0.97) / step) + 1 }, (_, index) => index * step)
}

function tickLabel(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`
  return `${Math.floor(seconds / 3_600)}:${String(Math.floor((seconds % 3_600) / 60)).padStart(2, '0')} h`
}
