// Durations, ages, sizes and URLs as people read them. Pure.

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
}

/** How long until something happens: the clock ticks in seconds. */
export function formatWait(ms: number): string {
  if (ms < 1_000) return 'a moment'
  return ms < 10_000 ? `${Math.floor(ms / 1_000)} s` : formatDuration(ms)
}

export function formatAge(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 5) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`
  const days = Math.floor(seconds / 86_400)
  return days === 1 ? 'yesterday' : `${days} days ago`
}

// Created once: a formatter costs more than a thousand of its results.
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

export function formatDate(iso: string): string {
  return date.format(new Date(iso))
}

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** `2026-11-16` → `Nov 16`. */
export function formatDay(isoDate: string): string {
  return day.format(new Date(isoDate))
}

export function formatDateTime(iso: string): string {
  return dateTime.format(new Date(iso))
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/** `14:05`, or as the reader writes it; with the date when that is another day. */
export function formatClock(iso: string, now = new Date()): string {
  const time = new Date(iso)
  const isToday = time.toDateString() === now.toDateString()
  return isToday ? clock.format(time) : `${date.format(time)}, ${clock.format(time)}`
}

const SIZES = ['B', 'KB', 'MB', 'GB', 'TB']

/** `3.2 GB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1_000 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[power]}`
}

/** The URL if it is safe to link to: a repository could name `javascript:`. */
export function safeUrl(url: string | null | undefined): string | undefined {
  return url && ['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '') ? url : undefined
}

/** Each log of an action has its own name: the same step runs on every server. */
export function logFileName(actionId: number, step: string, server: string): string {
  const name = `action-${actionId}-${step}-on-${server}`.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
  return `${name}.log`
}
