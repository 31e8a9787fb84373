// Terminal colors (`ESC [ … m`), the one kind of control sequence that logs contain. Everything else in a line is
// text and renders as text, whatever it looks like. Pure.

export type Style = {
  bold?: true
  dim?: true
  italic?: true
  underline?: true
  /** 0–15 of the terminal's palette, or `rgb(…)`. */
  foreground?: number | string
  background?: number | string
}
export type Span = { text: string; style: Style }

export const PLAIN: Style = {}
const SEQUENCE = /\x1b\[([0-9;:]*)m/g

/** The spans of a line that starts in `style`, and the style in which the next line starts. */
export function parseLine(line: string, style: Style): { spans: Span[]; next: Style } {
  const spans: Span[] = []
  let from = 0
  let now = style
  for (const match of line.matchAll(SEQUENCE)) {
    if (match.index > from) spans.push({ text: line.slice(from, match.index), style: now })
    now = applyCodes(now, match[1]!)
    from = match.index + match[0].length
  }
  if (from < line.length) spans.push({ text: line.slice(from), style: now })
  return { spans, next: now }
}

export function stripColors(text: string): string {
  return text.includes('\x1b') ? text.replaceAll(SEQUENCE, '') : text
}

const SETS: Record<number, keyof Style> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline' }
const RESETS: Record<number, (keyof Style)[]> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  39: ['foreground'],
  49: ['background'],
}
/** First code, and which half of the palette it starts. */
const PALETTES = [
  { from: 30, ground: 'foreground', offset: 0 },
  { from: 90, ground: 'foreground', offset: 8 },
  { from: 40, ground: 'background', offset: 0 },
  { from: 100, ground: 'background', offset: 8 },
] as const

function applyCodes(style: Style, text: string): Style {
  const codes = text.split(/[;:]/).map((code) => Number(code) || 0)
  let next: Style = { ...style }
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!
    const palette = PALETTES.find(({ from }) => code >= from && code < from + 8)
    if (code === 0) next = {}
    else if (code in SETS) next = { ...next, [SETS[code]!]: true }
    else if (code in RESETS) for (const name of RESETS[code]!) delete next[name]
    else if (code === 38 || code === 48) {
      const { color, used } = parseColor(codes.slice(at + 1))
      if (color !== undefined) next[code === 38 ? 'foreground' : 'background'] = color
      at += used
    } else if (palette) next[palette.ground] = code - palette.from + palette.offset
  }
  return next
}

/** `5;n` is one of 256 colors, `2;r;g;b` any. */
function parseColor(codes: number[]): { color: number | string | undefined; used: number } {
  const [kind, ...values] = codes
  if (kind === 5) return { color: fromPalette(values[0] ?? 0), used: 2 }
  if (kind === 2) return { color: rgb(values[0] ?? 0, values[1] ?? 0, values[2] ?? 0), used: 4 }
  return { color: undefined, used: codes.length }
}

function fromPalette(number: number): number | string {
  if (number < 16) return number
  if (number >= 232) return rgb(8 + (number - 232) * 10, 8 + (number - 232) * 10, 8 + (number - 232) * 10)
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40)
  const rest = number - 16
  return rgb(level(Math.floor(rest / 36)), level(Math.floor(rest / 6) % 6), level(rest % 6))
}

function rgb(red: number, green: number, blue: number): string {
  const [r, g, b] = [red, green, blue].map((value) => Math.min(255, Math.max(0, value)))
  return `rgb(${r} ${g} ${b})`
}
