import type { Socket } from 'node:net'

/**
 * A parameter of the type bytea whose bytes are in several buffers, which are sent one after another instead of being
 * copied together, twice. Only as the last parameter of a statement, and only once.
 */
export class Chunks {
  chunks: readonly Buffer[]
  readonly bytes: number

  constructor(chunks: readonly Buffer[]) {
    this.chunks = chunks
    this.bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  /** `pg` asks for the text of what is not the last parameter, and would send its JSON. */
  toPostgres(): never {
    throw new Error('Chunks have to be the last parameter')
  }
}

type Bind = { values?: unknown[] }

// What `pg` keeps in its clients, and its types do not mention.
export type BoundConnection = {
  stream: Socket
  bind(config: Bind): void
  _send(message: Buffer): void
}

const EMPTY = Buffer.alloc(0)
/** After the values of a Bind message: that there is one result format, and which. */
const TAIL_BYTES = 4

/** Makes a connection of `pg` send chunks: as an empty value first, whose length is then corrected. */
export function sendChunks(connection: BoundConnection): void {
  const bind = connection.bind.bind(connection)
  const send = connection._send.bind(connection)
  connection.bind = (config) => {
    const last = config.values?.at(-1)
    if (!(last instanceof Chunks)) return bind(config)
    connection._send = (message) => {
      message.writeInt32BE(message.readInt32BE(1) + last.bytes, 1)
      message.writeInt32BE(last.bytes, message.length - TAIL_BYTES - 4)
      send(message.subarray(0, -TAIL_BYTES))
      for (const chunk of last.chunks) send(chunk)
      send(message.subarray(-TAIL_BYTES))
    }
    try {
      bind({ ...config, values: [...config.values!.slice(0, -1), EMPTY] })
    } finally {
      connection._send = send
      // What was written is the stream's: see `query` in client.ts.
      last.chunks = []
    }
  }
}
