import { useLocalStorage } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { queryKeys, useApi, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import { useAnyPermission } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { Pending } from '#web/base/ui/together.tsx'
import { useOrganizations } from '#web/shared/scope/tree.ts'
import { findSample, setupTasks, type Task } from './checklist.ts'

// Most people have no use for them anymore.
const Checklist = lazy(() => import('./checklist-card.tsx'))
const SampleNotice = lazy(() => import('./sample-notice.tsx'))

const HIDDEN = 'gantry-setup-hidden'

/** On the overview, until something has been deployed or the person hides it. */
export function SetupChecklist() {
  const { sample, tasks, isEmpty } = useSetup()
  const { isInstanceAdmin } = useSession()
  const { allowed } = useAnyPermission('application:add', {})
  const [isHidden, setHidden] = useLocalStorage({
    key: HIDDEN,
    defaultValue: false,
    getInitialValueInEffect: false,
  })
  return (
    <Suspense fallback={<Pending />}>
      {tasks && (isEmpty || !isHidden) && (allowed || isInstanceAdmin) && (
        <Checklist tasks={tasks} hide={isEmpty ? undefined : () => setHidden(true)} />
      )}
      {sample && <SampleNotice sample={sample} />}
    </Suspense>
  )
}

const TYPES = ['server', 'application', 'pipeline', 'incoming_hook']
/** The checklist follows what others do, too; runs are reported as they happen. */
const REFETCH_INTERVAL_MS = 4_000
const MIN_REFETCH_INTERVAL_MS = 1_000

type Setup = {
  sample: { id: number; name: string } | undefined
  tasks: Task[] | undefined
  /** Without any organization there is nothing else to show. */
  isEmpty: boolean
}

/** The checklist of a new installation; no tasks once something of one's own has been deployed. */
function useSetup(): Setup {
  const api = useApi()
  const organizations = useOrganizations().data
  const sample = organizations && findSample(organizations)
  const own = organizations?.filter(({ id }) => id !== sample?.id).map(({ id }) => id) ?? []
  useRefetchOnActionEvents(queryKeys.setup(), MIN_REFETCH_INTERVAL_MS)
  const { data: hasDeployed } = useQuery({
    queryKey: queryKeys.setup('deployed', own),
    enabled: organizations !== undefined,
    queryFn: async ({ signal }) => {
      if (own.length === 0) return false
      const query = {
        'filter[type]': 'deploy',
        'filter[status]': 'completed',
        'filter[organization_id]': own.join(),
        per_page: 1,
      }
      return (await api.get('/actions', { params: { query }, signal })).length > 0
    },
  })
  const { data: names } = useQuery({
    queryKey: queryKeys.setup('names', sample?.id),
    enabled: hasDeployed === false,
    refetchInterval: REFETCH_INTERVAL_MS,
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(
        TYPES.map((type) => api.get('/names', { params: { query: { type, per_page: 100 } }, signal })),
      )
      return lists.flat().filter(({ organization }) => organization.id !== sample?.id)
    },
  })
  const tasks = hasDeployed === false && names ? setupTasks(names, false) : undefined
  return { sample, tasks, isEmpty: organizations?.length === 0 }
}
