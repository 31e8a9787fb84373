// What the file of a scenario may say; README.md in this folder tells it with an example.
import { readFile } from 'node:fs/promises'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { parse } from 'yaml'
import { Exactly, Word } from '#platform/http/schemas.ts'

const Name = Type.String({ pattern: '^[a-z][a-z0-9-]*$' })
const Limit = Type.Integer({ minimum: 0 })

const Server = Exactly({
  max_parallel_actions: Type.Optional(Limit),
  unreachable: Type.Optional(Type.String({ description: 'Why it cannot be reached.' })),
})

const Step = Exactly({
  command: Name,
  timeout_seconds: Type.Optional(Type.Integer()),
  idempotent: Type.Optional(Type.Boolean()),
})

const Pipeline = Exactly({
  servers: Type.Array(Name, { minItems: 1 }),
  operation: Type.Optional(Type.String()),
  max_parallel_actions: Type.Optional(Limit),
  queue_policy: Type.Optional(Word(['queue', 'latest', 'reject'] as const)),
  rollout: Type.Optional(
    Exactly({ batch: Type.Union([Type.Integer(), Type.String()]), max_failed: Type.Integer() }),
  ),
  run_after: Type.Optional(Type.Array(Name)),
  steps: Type.Array(Type.Union([Name, Step]), { minItems: 1 }),
})

const Ending = Type.String({
  pattern: '^(exits \\d+|killed by SIG[A-Z]+|times out|loses the server|cannot begin|hangs)$',
})
const Doing = Exactly({
  prints: Type.Optional(Type.String()),
  until: Type.Optional(Type.String()),
  deaf: Type.Optional(Type.Boolean()),
  then_prints: Type.Optional(Type.String()),
  ends: Type.Optional(Ending),
})
const ShortDoing = Type.Union([Ending, Doing])

const Line = Type.Union([
  Exactly({ person: Name }),
  Exactly({ call: Name }),
  Exactly({ cancel: Type.Integer() }),
  Exactly({ until: Type.String() }),
  Exactly({ raise: Type.Record(Type.String(), Limit) }),
  Exactly({ worker: Word(['starts', 'only schedules', 'stops', 'is lost'] as const) }),
])

const Format = Exactly({
  title: Type.String(),
  servers: Type.Union([Type.Array(Name), Type.Record(Type.String(), Server)]),
  pipelines: Type.Record(Type.String(), Pipeline),
  commands: Type.Optional(
    Type.Record(Type.String(), Type.Union([ShortDoing, Type.Array(ShortDoing, { minItems: 1 })])),
  ),
  story: Type.Array(Line, { minItems: 1 }),
})

type Short = Static<typeof Format>
/** `takesMs` is for stories without an order; a file says what a command waits for. */
export type Doing = Static<typeof Doing> & { takesMs?: number }
export type Line = Static<typeof Line>
export type Step = Static<typeof Step>
export type Scenario = Omit<Short, 'servers' | 'pipelines' | 'commands'> & {
  servers: Record<string, Static<typeof Server>>
  pipelines: Record<string, Omit<Static<typeof Pipeline>, 'steps'> & { steps: Step[] }>
  /** By `<command>`, `<command> of <action>`, `<command> on <server>` or both; one doing per run of it. */
  commands: Record<string, Doing[]>
}

const format = Compile(Format)

export async function readScenario(file: string): Promise<Scenario> {
  const read: unknown = parse(await readFile(file, 'utf8'))
  if (!format.Check(read)) {
    const faults = format.Errors(read).map(({ instancePath, message }) => `${instancePath} ${message}`)
    throw new Error(`${file} does not fit:\n${faults.join('\n')}`)
  }
  return inFull(read)
}

/** Everything that has a short form in its long one. */
function inFull(short: Short): Scenario {
  return {
    ...short,
    servers: Array.isArray(short.servers)
      ? Object.fromEntries(short.servers.map((name) => [name, {}]))
      : short.servers,
    pipelines: mapValues(short.pipelines, (pipeline) => ({
      ...pipeline,
      steps: pipeline.steps.map((step) => (typeof step === 'string' ? { command: step } : step)),
    })),
    commands: mapValues(short.commands ?? {}, (doings) =>
      [doings].flat().map((doing) => (typeof doing === 'string' ? { ends: doing } : doing)),
    ),
  }
}

function mapValues<Value, Result>(
  record: Record<string, Value>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}
