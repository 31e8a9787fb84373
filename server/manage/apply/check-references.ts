import { PRESET_ALONE } from '#manage/hooks/validate-requests.ts'
import type { Problem } from './problems.ts'
import { type DesiredResource, isBuiltInName, keyOf, referencesOf } from './resources.ts'
import type { StoredResource } from './stored-state.ts'

/** What a name in the document can refer to: a resource in it, or a stored one that is kept and visible. */
export type Known = {
  desired: ReadonlyMap<string, DesiredResource>
  isVisible: (key: string) => boolean
}

/** References that cannot be resolved, and rules that the schema cannot express. Pure. */
export function checkReferences(
  resource: DesiredResource,
  stored: StoredResource | undefined,
  { desired, isVisible }: Known,
): Problem[] {
  if (resource.type === 'step') return checkStep(resource, desired)
  return [...checkPreset(resource), ...checkNames(resource, stored, { desired, isVisible })]
}

/** Otherwise a URL that is that of the preset today would differ as soon as the preset sends to another one. */
function checkPreset({ type, body, at }: DesiredResource): Problem[] {
  if (type !== 'hook' || !('target_url' in body) || !body.settings || !('preset' in body.settings)) return []
  return [{ path: [...at, 'target_url'], message: PRESET_ALONE }]
}

function checkNames(
  resource: DesiredResource,
  stored: StoredResource | undefined,
  { desired, isVisible }: Known,
): Problem[] {
  return referencesOf(resource).flatMap(({ type, path, at }): Problem[] => {
    const key = keyOf(path)
    // A resource may keep its credential, even if the caller cannot see it.
    const isKept = type === 'credential' && stored?.body.credential === path.at(-1)
    if (isKept || desired.has(key) || isVisible(key)) return []
    const where = type === 'credential' ? 'that you can view in this organization' : 'in this environment'
    return [{ path: at, message: `is not a ${type} ${where}` }]
  })
}

function checkStep(step: DesiredResource<'step'>, desired: Known['desired']): Problem[] {
  const { at, name, body, path } = step
  const problems: Problem[] = []
  if (desired.get(keyOf(path)) !== step)
    problems.push({ path: [...at, 'name'], message: 'is used by another step of this pipeline' })
  const pipeline = desired.get(keyOf(path.slice(0, -2)))
  const isDeploy = pipeline?.type === 'pipeline' && pipeline.body.operation === 'deploy'
  const invalid = (field: string, message: string) =>
    problems.push({ path: [...at, field], message, onKey: true })
  if (isDeploy && isBuiltInName(name)) {
    for (const field of Object.keys(body))
      if (field !== 'timeout_seconds') invalid(field, 'is fixed for built-in steps')
  } else if (body.command === undefined) invalid('command', 'is required')
  return problems
}
