// The format of a scenario file; README.md in this folder has an example.
import { readFile } from 'node:fs/promises'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { parse } from 'yaml'
import { Exactly, Word } from '#platform/http/schemas.ts'

const Name = Type.String({ pattern: '^[a-z][a-z0-9-]*$' })
const Limit = Type.Integer({ minimum: 0 })

const Server = Exactly({
  max_parallel_actions: Type.Optional(Limit),
  unreachable: Type.Optional(Type.String({ description: 'Why it is unreachable.' })),
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
const Behavior = Exactly({
  prints: Type.Optional(Type.String()),
  until: Type.Optional(Type.String()),
  ignores_cancel: Type.Optional(Type.Boolean()),
  then_prints: Type.Optional(Type.String()),
  ends: Type.Optional(Ending),
})
const ShortBehavior = Type.Union([Ending, Behavior])

const Line = Type.Union([
  Exactly({ user: Name }),
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
    Type.Record(Type.String(), Type.Union([ShortBehavior, Type.Array(ShortBehavior, { minItems: 1 })])),
  ),
  story: Type.Array(Line, { minItems: 1 }),
})

type Short = Static<typeof Format>
/** `takesMs` is for random scenarios; a file says what a command waits for. */
export type Behavior = Static<typeof Behavior> & { takesMs?: number }
export type Line = Static<typeof Line>
export type Step = Static<typeof Step>
export type Scenario = Omit<Short, 'servers' | 'pipelines' | 'commands'> & {
  servers: Record<string, Static<typeof Server>>
  pipelines: Record<string, Omit<Static<typeof Pipeline>, 'steps'> & { steps: Step[] }>
  /** By `<command>`, `<command> of <action>`, `<command> on <server>` or both; one behavior per run of it. */
  commands: Record<string, Behavior[]>
}

const format = Compile(Format)

export async function readScenario(file: string): Promise<Scenario> {
  const read: unknown = parse(await readFile(file, 'utf8'))
  if (!format.Check(read)) {
    const errors = format.Errors(read).map(({ instancePath, message }) => `${instancePath} ${message}`)
    throw new Error(`${file} does not fit:\n${errors.join('\n')}`)
  }
  return expand(read)
}

/** Expands every short form. */
function expand(short: Short): Scenario {
  return {
    ...short,
    servers: Array.isArray(short.servers)
      ? Object.fromEntries(short.servers.map((name) => [name, {}]))
      : short.servers,
    pipelines: mapValues(short.pipelines, (pipeline) => ({
      ...pipeline,
      steps: pipeline.steps.map((step) => (typeof step === 'string' ? { command: step } : step)),
    })),
    commands: mapValues(short.commands ?? {}, (behaviors) =>
      [behaviors].flat().map((behavior) => (typeof behavior === 'string' ? { ends: behavior } : behavior)),
    ),
  }
}

function mapValues<Value, Result>(
  record: Record<string, Value>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}
