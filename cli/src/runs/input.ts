// From the options of `run` and `plan` to the body of the request.
import type { components, Gantry } from '@gantry/client'
import { usage } from '../ending.ts'
import { chooseNamed, readNames } from '../names.ts'
import type { FoundPipeline } from './find.ts'

export type RunRequest = components['schemas']['RunRequest']
export type RunOptions = { ref?: string; var?: string[]; server?: string[]; comment?: string }

export async function toRequest(
  gantry: Gantry,
  pipeline: FoundPipeline,
  { ref, var: variables = [], server = [], comment }: RunOptions,
): Promise<RunRequest> {
  return {
    ...(ref !== undefined && parseRef(ref)),
    ...(variables.length > 0 && { variables: parseVariables(variables) }),
    ...(server.length > 0 && { servers: await findServers(gantry, pipeline, server) }),
    ...(comment !== undefined && { trigger_comment: comment }),
  }
}

const HASH = /^(?=.*\d)[0-9a-f]{7,64}$/i
const VERSION = /^v?\d+\.\d+(\.\d+)*([-+][0-9a-z.+-]+)?$/i

/**
 * What looks like a hash is a commit, what looks like a version is a tag, everything else is a branch. `heads/…` and
 * `tags/…` say which one it is.
 */
export function parseRef(given: string): Pick<RunRequest, 'source_type' | 'source_ref'> {
  const [, kind, name] = /^(?:refs\/)?(heads|tags)\/(.+)$/.exec(given) ?? []
  if (kind) return { source_type: kind === 'heads' ? 'branch' : 'tag', source_ref: name! }
  if (HASH.test(given)) return { source_type: 'commit', source_ref: given.toLowerCase() }
  return { source_type: VERSION.test(given) ? 'tag' : 'branch', source_ref: given }
}

/** Values are text, as they are: `007` stays `007`. */
export function parseVariables(given: readonly string[]): Record<string, string> {
  const pairs = given.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw usage(`--var takes name=value, not "${text}".`)
    return [text.slice(0, at), text.slice(at + 1)] as const
  })
  const names = pairs.map(([name]) => name)
  const twice = names.find((name, n) => names.indexOf(name) !== n)
  if (twice !== undefined) throw usage(`--var gives ${twice} twice.`)
  return Object.fromEntries(pairs)
}

/** Servers of the pipeline's environment, by name. */
async function findServers(
  gantry: Gantry,
  { environment_id }: FoundPipeline,
  given: readonly string[],
): Promise<number[]> {
  const servers = (await readNames(gantry, ['server'])).filter((one) => one.environment_id === environment_id)
  return [...new Set(given.map((name) => Number(chooseNamed(servers, ['server'], name).id)))]
}
