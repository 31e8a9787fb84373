import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import { useSession } from '../../session/session.ts'
import { leavePage } from '../../ui/form/leave-guard.ts'
import { notify } from '../../ui/notify.ts'
import { useColorScheme } from '../color-schemes.ts'
import type { Item } from './items.ts'

/** Does what an item says. */
export function useChoose(): (item: Item) => void {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [, setColorScheme] = useColorScheme()
  const { signOut } = useSession()

  async function rollBack(applicationId: number): Promise<void> {
    const path = { resource_id: applicationId }
    const pipelines = await queries.fetchQuery({
      queryKey: queryKeys.pipelines('application', applicationId),
      queryFn: ({ signal }) => api.all('/pipelines/application/{resource_id}', { params: { path }, signal }),
    })
    const deploy = pipelines.find(({ operation }) => operation === 'deploy')
    if (deploy) navigate(`/pipelines/${deploy.id}?rollback=1`)
    else notify.problem(new Error('This application has no pipeline that deploys it.'))
  }

  return ({ choice }) => {
    if (choice.kind === 'go') navigate(choice.to)
    else if (choice.kind === 'open') location.assign(choice.href)
    else if (choice.kind === 'roll-back') rollBack(choice.applicationId).catch(notify.problem)
    else if (choice.kind === 'color-scheme') setColorScheme(choice.value)
    else leavePage(() => void signOut())
  }
}
