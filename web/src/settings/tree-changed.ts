import { useQueryClient } from '@tanstack/react-query'

const KEYS = [
  ['organizations'],
  ['organization'],
  ['projects'],
  ['project'],
  ['environments'],
  ['environment'],
  ['names'],
  ['permissions'],
]

/** Call it after each change of organizations, projects and environments: every page shows them. */
export function useTreeChanged(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    await Promise.all(KEYS.map((queryKey) => queries.invalidateQueries({ queryKey })))
  }
}
