import type { ServerResponse } from 'node:http'

/** Passes the parts of a response on as fast as the client takes them. One that takes nothing for this long is disconnected. */
export async function* unlessStalled(
  response: ServerResponse,
  parts: AsyncGenerator<string>,
  stallMs: number,
): AsyncGenerator<string> {
  for await (const part of parts) {
    const timer = setTimeout(() => response.destroy(), stallMs)
    try {
      yield part
    } finally {
      clearTimeout(timer)
    }
  }
}
