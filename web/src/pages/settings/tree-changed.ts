import { useRefetch } from '#web/base/api/queries.ts'

const KEYS = 'organizations organization projects project environments environment names permissions'

/** Call it after each change of organizations, projects and environments: every page shows them. */
export function useTreeChanged(): () => Promise<void> {
  const refetch = useRefetch()
  return () => refetch(...KEYS.split(' ').map((key) => [key]))
}
