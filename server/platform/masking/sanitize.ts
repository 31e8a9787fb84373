/**
 * Converts the output of a command to text that can be stored and displayed: valid Unicode, lines that end with
 * `\n`, tabs, colors (`ESC [ … m`, which the dashboard renders), and no other control characters.
 *
 * - Bytes that are not UTF-8 become U+FFFD. A character split between two pushes is preserved.
 * - `\r\n`, a lone `\r` (progress bars), vertical tab and form feed become `\n`.
 * - Sequences that move the cursor, set titles, write to the clipboard, create links or control the terminal in any
 *   other way are removed entirely, wherever they are split. An unterminated string (OSC, DCS, …) removes the rest of
 *   its line, any other sequence a few dozen characters: nothing hides what follows.
 * - Other control characters, and those that change the text direction, are removed. Removed, not replaced by
 *   symbols, so that masking finds a secret with NULs in between.
 */
type Sanitizer = {
  push(bytes: Uint8Array): string
  /** Ends the stream: an incomplete character becomes U+FFFD, an incomplete sequence is removed. */
  flush(): string
}

/** `ESC [ … m`: always complete within the result of one push. */
export const COLORS = /\x1b\[[0-9;:]*m/g
/** More than the longest sequence that sets both colors. */
const MAX_PARAMETERS = 48
export const MAX_COLOR_LENGTH = MAX_PARAMETERS + 3

export function createSanitizer(): Sanitizer {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const sanitize = createTextSanitizer()
  return {
    push: (bytes) => sanitize(decoder.decode(bytes, { stream: true })),
    flush: () => sanitize(decoder.decode()),
  }
}

/** The same for a complete text. */
export function sanitizeText(text: string): string {
  return createTextSanitizer()(text.toWellFormed())
}

const [TAB, LINE_FEED, RETURN, ESCAPE] = [0x09, 0x0a, 0x0d, 0x1b]
const MAX_INTERMEDIATES = 4

type State = 'text' | 'escape' | 'control' | 'string'

function createTextSanitizer(): (text: string) => string {
  let state: State = 'text'
  /** The part of the sequence so far that matters for its end. */
  let parameters = ''
  let previous = 0

  return (text) => {
    let safe = ''
    /** Where the current run of unchanged characters begins. */
    let from = 0

    function end(next: number): void {
      state = 'text'
      from = next
    }

    /** A C1 control, or its equivalent after ESC. */
    function introduce(code: number, at: number): void {
      parameters = ''
      if (code === 0x9b) state = 'control'
      else if (code === 0x90 || code === 0x98 || code >= 0x9d) state = 'string'
      else end(at + 1)
    }

    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      switch (state) {
        case 'text':
          if (code === LINE_FEED ? previous !== RETURN : isPlain(code)) break
          safe += text.slice(from, at)
          from = at + 1
          if (code === RETURN || code === 0x0b || code === 0x0c) safe += '\n'
          else if (code === ESCAPE) [state, parameters] = ['escape', '']
          else if (code >= 0x80 && code <= 0x9f) introduce(code, at)
          break
        case 'escape':
          if (code >= 0x20 && code <= 0x2f && parameters.length < MAX_INTERMEDIATES) parameters += text[at]
          else if (parameters === '' && code >= 0x40 && code <= 0x5f) introduce(code + 0x40, at)
          else if (code >= 0x30 && code <= 0x7e) end(at + 1)
          else end(at--)
          break
        case 'control':
          if (code >= 0x20 && code <= 0x3f && parameters.length < MAX_PARAMETERS) parameters += text[at]
          else if (code >= 0x40 && code <= 0x7e) {
            if (code === 0x6d && /^[0-9;:]*$/.test(parameters)) safe += `\x1b[${parameters}m`
            end(at + 1)
          } else end(at--)
          break
        case 'string':
          // BEL, CAN, SUB and ST end it; so does ESC, whether it continues as ST or as a new sequence.
          if (code === 0x07 || code === 0x18 || code === 0x1a || code === 0x9c) end(at + 1)
          else if (code === ESCAPE) [state, parameters] = ['escape', '']
          else if (code >= 0x0a && code <= RETURN) end(at--)
          break
      }
      previous = code
    }
    return state === 'text' ? safe + text.slice(from) : safe
  }
}

function isPlain(code: number): boolean {
  if (code < 0x7f) return code >= 0x20 || code === TAB
  if (code < 0x202a) return code > 0x9f
  return code > 0x2069 || (code > 0x202e && code < 0x2066)
}
