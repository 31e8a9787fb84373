import { useScope } from './scope.ts'
import { useOrganizations } from './tree.ts'

/**
 * The selected organization, else the first one that the person may see. Undefined while that is loading, and for
 * people who may see no organization as a whole.
 */
export function useOrganizationId(): number | undefined {
  const [scope] = useScope()
  const { data } = useOrganizations()
  return scope.organization ?? data?.[0]?.id
}
