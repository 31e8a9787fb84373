// Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html

export type ServerSentEvent = { type: string; id: string; data: string }

/** Takes the text of a stream as it arrives, cut anywhere, and returns the events that it completes. */
export function createEventParser(lastEventId = '') {
  let rest = ''
  let id = lastEventId
  let type = ''
  let data: string[] = []

  function readLine(line: string): void {
    const [field, value] = splitField(line)
    if (field === 'event') type = value
    else if (field === 'data') data.push(value)
    else if (field === 'id' && !value.includes('\0')) id = value
    else if (field === 'retry' && /^\d+$/.test(value)) parser.retryMs = Number(value)
  }

  function dispatch(): ServerSentEvent[] {
    parser.lastEventId = id
    const event = { type: type || 'message', id, data: data.join('\n') }
    const isEmpty = data.length === 0
    type = ''
    data = []
    return isEmpty ? [] : [event]
  }

  const parser = {
    /** What to resume after. */
    lastEventId,
    /** How long to wait before reconnecting, if the stream said so. */
    retryMs: undefined as number | undefined,
    push(text: string): ServerSentEvent[] {
      // A carriage return at the end may be the first half of a line break.
      const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop()!
      return lines.flatMap((line) => {
        if (line === '') return dispatch()
        readLine(line)
        return []
      })
    },
  }
  return parser
}

/** A comment, which starts with a colon, is a field without a name. */
function splitField(line: string): [field: string, value: string] {
  const colon = line.indexOf(':')
  if (colon === -1) return [line, '']
  return [line.slice(0, colon), line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))]
}
