// Colours of terminals (`ESC [ … m`), the one kind of control that logs keep. Everything else in a line is text and
// is drawn as text, whatever it looks like. Pure.

export type Style = {
  bold?: true
  dim?: true
  italic?: true
  underline?: true
  /** 0–15 as terminals name them, or a colour of its own as `rgb(…)`. */
  foreground?: number | string
  background?: number | string
}
export type Piece = { text: string; style: Style }

export const PLAIN: Style = {}
const SEQUENCE = /\x1b\[([0-9;:]*)m/g

/** The pieces of a line that begins in `style`, and the style in which the next line begins. */
export function readLine(line: string, style: Style): { pieces: Piece[]; next: Style } {
  const pieces: Piece[] = []
  let from = 0
  let now = style
  for (const match of line.matchAll(SEQUENCE)) {
    if (match.index > from) pieces.push({ text: line.slice(from, match.index), style: now })
    now = applyCodes(now, match[1]!)
    from = match.index + match[0].length
  }
  if (from < line.length) pieces.push({ text: line.slice(from), style: now })
  return { pieces, next: now }
}

export function withoutColours(text: string): string {
  return text.includes('\x1b') ? text.replaceAll(SEQUENCE, '') : text
}

function applyCodes(style: Style, text: string): Style {
  const codes = text.split(/[;:]/).map((code) => Number(code) || 0)
  let next: Style = { ...style }
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!
    if (code === 0) next = {}
    else if (code === 1) next.bold = true
    else if (code === 2) next.dim = true
    else if (code === 3) next.italic = true
    else if (code === 4) next.underline = true
    else if (code === 22) next = without(next, 'bold', 'dim')
    else if (code === 23) next = without(next, 'italic')
    else if (code === 24) next = without(next, 'underline')
    else if (code >= 30 && code <= 37) next.foreground = code - 30
    else if (code >= 90 && code <= 97) next.foreground = code - 90 + 8
    else if (code >= 40 && code <= 47) next.background = code - 40
    else if (code >= 100 && code <= 107) next.background = code - 100 + 8
    else if (code === 39) next = without(next, 'foreground')
    else if (code === 49) next = without(next, 'background')
    else if (code === 38 || code === 48) {
      const { colour, used } = readColour(codes.slice(at + 1))
      if (colour !== undefined) next[code === 38 ? 'foreground' : 'background'] = colour
      at += used
    }
  }
  return next
}

/** `5;n` is one of 256 colours, `2;r;g;b` any. */
function readColour(codes: number[]): { colour: number | string | undefined; used: number } {
  const [kind, ...values] = codes
  if (kind === 5) return { colour: fromPalette(values[0] ?? 0), used: 2 }
  if (kind === 2) return { colour: rgb(values[0] ?? 0, values[1] ?? 0, values[2] ?? 0), used: 4 }
  return { colour: undefined, used: codes.length }
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

function without(style: Style, ...names: (keyof Style)[]): Style {
  const rest = { ...style }
  for (const name of names) delete rest[name]
  return rest
}
