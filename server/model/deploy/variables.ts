// The environment of custom steps: what the hook read from its payload, the variables of the application, and what
// Gantry knows about the run.

export type StepFacts = {
  /** Null outside of runs, like the one below. */
  actionId: number | null
  targetId: number | null
  environment: string
  server: string
  application: string | null
  source: { type: 'branch' | 'tag' | 'commit'; ref: string } | null
  commit: string | null
  release: string | null
  /** Where the release, the live release and the shared files are; null outside of deploys. */
  paths: { release: string; current: string; shared: string } | null
}

export type StepEnvironment =
  /** `notes` are lines for the step's log: which variables were ignored, and why. Names only, no values. */
  | { kind: 'ready'; environment: Record<string, string>; notes: string[] }
  /** The system could not start any program with it. */
  | { kind: 'too-large'; message: string }

/**
 * Names that an application cannot set. They decide which programs and files the commands find, or belong to bash,
 * and a step would break in ways that its script does not explain.
 */
const RESERVED_NAMES = new Set(
  `PATH HOME USER LOGNAME SHELL PWD OLDPWD ENV IFS CDPATH GLOBIGNORE PS4 PROMPT_COMMAND POSIXLY_CORRECT
  SHELLOPTS UID EUID PPID GROUPS DIRSTACK FUNCNAME RANDOM SRANDOM SECONDS LINENO HISTCMD EPOCHSECONDS EPOCHREALTIME
  OPTIND OPTARG OPTERR REPLY PIPESTATUS MAPFILE _`.split(/\s+/),
)
const RESERVED_PREFIXES = ['GANTRY_', 'BASH', 'LD_']

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const HOOK_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/

// Linux starts no program with a variable over 128 KiB, nor with more than 2 MiB of them and its arguments.
const MAX_BYTES_EACH = 128 * 1024 - 1
const MAX_BYTES = 1024 * 1024

export function isReservedName(name: string): boolean {
  return RESERVED_NAMES.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/** Never throws. All names are ones that bash can export, and no value has a NUL. */
export function stepEnvironment(variables: {
  hookVariables: Record<string, unknown>
  applicationVariables: readonly { name: string; value: string }[]
  facts: StepFacts
}): StepEnvironment {
  const { hookVariables, applicationVariables, facts } = variables
  const environment = new Map<string, string>()
  const notes: string[] = []
  const add = (name: string, shown: string, value: string) => {
    if (environment.has(name)) notes.push(`${shown} is ignored: another variable is already named ${name}.`)
    else if (value.includes('\0')) notes.push(`${shown} is ignored: it contains a NUL character.`)
    else environment.set(name, value.toWellFormed())
  }

  for (const [name, value] of Object.entries(namedFacts(facts))) {
    if (value !== null) add(name, name, value)
  }
  for (const [name, value] of exactNamesFirst(hookVariables)) {
    const shown = `The hook variable ${JSON.stringify(name)}`
    const text = asText(value)
    if (!HOOK_NAME.test(name)) notes.push(`${shown} is ignored: its name is not valid.`)
    else if (text !== undefined) add(hookVariableName(name), shown, text)
  }
  for (const { name, value } of applicationVariables) {
    const shown = `The application variable ${JSON.stringify(name)}`
    if (!NAME.test(name)) notes.push(`${shown} is ignored: its name is not valid.`)
    else if (isReservedName(name)) notes.push(`${shown} is ignored: its name is reserved.`)
    else add(name, shown, value)
  }

  const message = whyTooLarge(environment)
  if (message) return { kind: 'too-large', message }
  return { kind: 'ready', environment: Object.fromEntries(environment), notes }
}

/** `deploy-key` → `GANTRY_VAR_DEPLOY_KEY` */
function hookVariableName(name: string): string {
  return `GANTRY_VAR_${name.toUpperCase().replaceAll('-', '_')}`
}

/** `a-b` and `a_b` get the same name: the exact spelling wins. */
function exactNamesFirst(variables: Record<string, unknown>): [string, unknown][] {
  return Object.entries(variables).sort(([a], [b]) => Number(a.includes('-')) - Number(b.includes('-')))
}

function asText(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    case 'object':
      return value === null ? undefined : JSON.stringify(value)
  }
}

const asId = (id: number | null) => (id === null ? null : String(id))

function namedFacts({ source, paths, ...facts }: StepFacts): Record<string, string | null> {
  return {
    GANTRY_ACTION_ID: asId(facts.actionId),
    GANTRY_TARGET_ID: asId(facts.targetId),
    GANTRY_ENVIRONMENT: facts.environment,
    GANTRY_SERVER: facts.server,
    GANTRY_APPLICATION: facts.application,
    GANTRY_SOURCE_TYPE: source?.type ?? null,
    GANTRY_SOURCE_REF: source?.ref ?? null,
    GANTRY_BRANCH: source?.type === 'branch' ? source.ref : null,
    GANTRY_TAG: source?.type === 'tag' ? source.ref : null,
    GANTRY_COMMIT: facts.commit,
    GANTRY_RELEASE: facts.release,
    GANTRY_RELEASE_PATH: paths?.release ?? null,
    GANTRY_CURRENT_PATH: paths?.current ?? null,
    GANTRY_SHARED_PATH: paths?.shared ?? null,
  }
}

function whyTooLarge(environment: Map<string, string>): string | undefined {
  let total = 0
  for (const [name, value] of environment) {
    const bytes = name.length + 1 + Buffer.byteLength(value)
    if (bytes > MAX_BYTES_EACH)
      return `The variable ${name} is larger than 128 KiB: no program could be started.`
    total += bytes
  }
  if (total > MAX_BYTES)
    return 'The variables of this run are larger than 1 MiB: no program could be started.'
}
