/** Which kind of resource a pipeline, or something in one, stands in. */
export function resourceOf(path: readonly string[]): 'application' | 'server' {
  return path[2] === 'applications' ? 'application' : 'server'
}
