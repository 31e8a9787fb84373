import { Client, type Dispatcher } from 'undici'

/** One connection at a time: who is at its other end. */
export type Line = { address: string | null }

export type LineHandler = Dispatcher.DispatchHandler & {
  line: Line
  /** Nobody waits for the request any more. */
  isOver(): boolean
}

/**
 * Tells each request which line it goes over; undici keeps that to itself. A request that is over when its
 * turn comes is passed by, instead of costing the receiver a connection that is then thrown away.
 */
export class LineClient extends Client {
  readonly #line: Line

  constructor(url: string | URL, options: Client.Options, line: Line) {
    super(url, options)
    this.#line = line
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const withLine = handler as LineHandler
    // True: this client can take another.
    if (withLine.isOver()) return true
    withLine.line = this.#line
    return super.dispatch(options, handler)
  }
}
