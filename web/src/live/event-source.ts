// An EventSource that comes back. The browser's own gives up for good when the answer is not a stream (a 503 during
// a restart, a 401 after the session ended); this one asks again, ever more slowly, until it is closed.

export type StreamHandlers = {
  /** By type of event; the data is parsed JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each handler names the type of its own data
  on: Record<string, (data: any) => void>
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000

export function openStream(url: string, { on }: StreamHandlers): { close(): void } {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait = FIRST_WAIT_MS

  function open(): void {
    source = new EventSource(url)
    source.onopen = () => {
      wait = FIRST_WAIT_MS
    }
    source.onerror = () => {
      if (source?.readyState !== EventSource.CLOSED) return
      timer = setTimeout(open, wait)
      wait = Math.min(wait * 2, LONGEST_WAIT_MS)
    }
    for (const [type, handle] of Object.entries(on))
      source.addEventListener(type, (event) => handle(JSON.parse((event as MessageEvent).data)))
  }

  open()
  return {
    close() {
      clearTimeout(timer)
      source?.close()
    },
  }
}
