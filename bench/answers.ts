import type { Bench, Figure } from './bench.ts'
import { alternate, get, median, medianRatio, ROUNDS, startLoader } from './measure.ts'
import { storeActions } from './stored-actions.ts'

const SIZES = {
  full: { stored: 1_000, warmUpMs: 1_000, ms: 1_300, rounds: ROUNDS },
  smoke: { stored: 200, warmUpMs: 100, ms: 200, rounds: 1 },
}

const CONNECTIONS = 8
const PATH = '/actions?per_page=25'
const ENCODINGS = ['identity', 'zstd'] as const

/** A page of actions, compressed, against the same as it is: its bytes, and the rate on loopback, where bytes cost nothing. */
export const answers: Bench = async (workbench, size) => {
  const { stored, warmUpMs, ms, rounds } = SIZES[size]
  const database = await workbench.createDatabase('answers')
  const { owner } = await storeActions(database, stored)
  const server = await workbench.startServer(database.settings)
  const loader = startLoader()
  workbench.defer(() => loader.stop())

  const bytes = {} as Record<Encoding, number>
  for (const encoding of ENCODINGS) bytes[encoding] = await sizeOf(server.url, owner.token, encoding)
  const parties = (duration: number) =>
    Object.fromEntries(
      ENCODINGS.map((encoding) => {
        const requests = [get(PATH, owner.token, encoding)]
        return [encoding, () => loader.load(server, { connections: CONNECTIONS, ms: duration, requests })]
      }),
    ) as Record<Encoding, () => ReturnType<typeof loader.load>>
  await alternate(1, parties(warmUpMs))
  const outcomes = await alternate(rounds, parties(ms))
  const rate = (encoding: Encoding) => outcomes[encoding].map((outcome) => outcome.perSecond)
  const of = (encoding: Encoding) => ({
    bytes: bytes[encoding],
    perSecond: median(rate(encoding)),
    ratio: medianRatio(rate(encoding), rate('identity')),
    serverCpuMsEach: median(outcomes[encoding].map((one) => one.serverCpuMs / one.answers)),
  })
  const details = Object.fromEntries(ENCODINGS.map((encoding) => [encoding, of(encoding)]))
  const common = { floor: 'uncompressed', details } as const
  const figures: Figure[] = [
    {
      ...common,
      name: 'answers-bytes',
      value: bytes.zstd,
      unit: 'bytes',
      ratio: bytes.zstd / bytes.identity,
      goal: { of: 'ratio', is: 'at most', limit: 0.1 },
    },
    {
      ...common,
      name: 'answers-rate',
      value: median(rate('zstd')),
      unit: '/s',
      ratio: medianRatio(rate('zstd'), rate('identity')),
      goal: { of: 'ratio', is: 'at least', limit: 0.85 },
    },
  ]
  return figures
}

type Encoding = (typeof ENCODINGS)[number]

/** The length of the body as it goes over the wire. */
async function sizeOf(url: string, token: string, encoding: Encoding): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': encoding }
  const answer = await fetch(url + PATH, { headers, method: 'HEAD' })
  const used = answer.headers.get('content-encoding') ?? 'identity'
  if (answer.status !== 200 || used !== encoding)
    throw new Error(`HEAD ${PATH}: ${answer.status}, ${used} instead of ${encoding}`)
  return Number(answer.headers.get('content-length'))
}
