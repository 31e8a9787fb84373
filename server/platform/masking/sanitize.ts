/**
 * Bytes that a command printed → text that can be stored and shown: valid Unicode, lines ended by `\n`, tabs,
 * colours (`ESC [ … m`, which the dashboard shows), and no other control whatsoever.
 *
 * - Bytes that are not UTF-8 become U+FFFD. A character cut between two pushes survives.
 * - `\r\n`, a lone `\r` (progress bars), vertical tab and form feed become `\n`.
 * - Sequences that move the cursor, set titles, fill the clipboard, make links or talk to the terminal in any
 *   other way are dropped whole, wherever they are cut. A string (OSC, DCS, …) that never ends costs the rest of
 *   its line, and any other sequence a few dozen characters: nothing hides what comes after.
 * - Other control characters, and those that turn the direction of writing around, are removed. Removed, not
 *   shown as symbols: a secret with NULs in between is whole again when it comes to masking.
 */
export type Sanitizer = {
  push(bytes: Uint8Array): string
  /** Ends the stream: an unfinished character becomes U+FFFD, an unfinished sequence goes. */
  flush(): string
}

/** `ESC [ … m` as it is let through: always whole within one push. */
export const COLORS = /\x1b\[[0-9;:]*m/g
/** More than the longest that sets both colours at once. */
const MOST_PARAMETERS = 48
export const MAX_COLOR_LENGTH = MOST_PARAMETERS + 3

export function createSanitizer(): Sanitizer {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const sanitize = createTextSanitizer()
  return {
    push: (bytes) => sanitize(decoder.decode(bytes, { stream: true })),
    flush: () => sanitize(decoder.decode()),
  }
}

/** The same for text that is there as a whole. */
export function sanitizeText(text: string): string {
  return createTextSanitizer()(text.toWellFormed())
}

const [TAB, LINE_FEED, RETURN, ESCAPE] = [0x09, 0x0a, 0x0d, 0x1b]
const MOST_INTERMEDIATES = 4

type State = 'text' | 'escape' | 'control' | 'string'

function createTextSanitizer(): (text: string) => string {
  let state: State = 'text'
  /** What stands between the beginning of the sequence and here, when it matters for the end. */
  let parameters = ''
  let previous = 0

  return (text) => {
    let safe = ''
    /** Where the run of characters begins that go through as they are. */
    let from = 0

    function end(next: number): void {
      state = 'text'
      from = next
    }

    /** A C1 control, or the character after ESC that stands for one. */
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
          if (code >= 0x20 && code <= 0x2f && parameters.length < MOST_INTERMEDIATES) parameters += text[at]
          else if (parameters === '' && code >= 0x40 && code <= 0x5f) introduce(code + 0x40, at)
          else if (code >= 0x30 && code <= 0x7e) end(at + 1)
          else end(at--)
          break
        case 'control':
          if (code >= 0x20 && code <= 0x3f && parameters.length < MOST_PARAMETERS) parameters += text[at]
          else if (code >= 0x40 && code <= 0x7e) {
            if (code === 0x6d && /^[0-9;:]*$/.test(parameters)) safe += `\x1b[${parameters}m`
            end(at + 1)
          } else end(at--)
          break
        case 'string':
          // BEL, CAN, SUB and ST end it; ESC ends it too, whether it goes on as ST or as something new.
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
