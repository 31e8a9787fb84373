import { Button, CloseButton, Group, Paper, Progress, Title, VisuallyHidden } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Circle, CircleCheck, Rocket } from 'lucide-react'
import { Link } from 'wouter'
import { queryKeys, useApi, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import { useAnyPermission } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { useOrganizations } from '#web/shared/scope/tree.ts'
import { findSample, setupTasks, type Task } from './checklist.ts'
import classes from './first-run.module.css'
import { SampleNotice } from './sample-notice.tsx'

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
    <>
      {tasks && (isEmpty || !isHidden) && (allowed || isInstanceAdmin) && (
        <Checklist tasks={tasks} hide={isEmpty ? undefined : () => setHidden(true)} />
      )}
      {sample && <SampleNotice sample={sample} />}
    </>
  )
}

function Checklist({ tasks, hide }: { tasks: Task[]; hide: (() => void) | undefined }) {
  const done = tasks.filter(({ isDone }) => isDone).length
  const next = tasks.find(({ isDone }) => !isDone)
  return (
    <Paper component="section" withBorder p="md" mb="md" aria-labelledby="setup">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Title order={2} size="h4" id="setup">
            Deploy on push, in five steps
          </Title>
          <Dimmed>
            {done} of {tasks.length} done
          </Dimmed>
        </div>
        {hide && <CloseButton aria-label="Hide checklist" onClick={hide} />}
      </Group>
      <Progress value={(done / tasks.length) * 100} my="sm" aria-label="Setup progress" />
      <ol className={`plain-list ${classes.tasks}`}>
        {tasks.map((task) => (
          <li key={task.name} data-done={task.isDone || undefined}>
            {task.isDone ? <CircleCheck size={18} aria-hidden /> : <Circle size={18} aria-hidden />}
            <div>
              {task.isDone ? <s>{task.name}</s> : <Link href={task.to}>{task.name}</Link>}
              {task.isDone && <VisuallyHidden> (done)</VisuallyHidden>}
              <div className="dimmed">{task.description}</div>
            </div>
          </li>
        ))}
      </ol>
      {next && (
        <Button component={Link} href={next.to} mt="sm" leftSection={<Rocket size={16} aria-hidden />}>
          {done === 0 ? 'Add your first application' : next.name}
        </Button>
      )}
    </Paper>
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
