// What the sample is, how to run it, and where its result is.
import { Button, Group, Paper, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { Link } from 'wouter'
import { hasEnded } from '#client/index.ts'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { GuardedButton, ReasonedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { StatusBadge } from '#web/base/ui/parts.tsx'

const RemoveDialog = lazy(async () => ({
  default: (await import('#web/base/ui/remove-dialog.tsx')).RemoveDialog,
}))

type Organization = { id: number; name: string }

export default function SampleNotice({ sample }: { sample: Organization }) {
  const queries = useQueryClient()
  const [isRemoving, setRemoving] = useState(false)
  const { data } = useSample(sample.id)
  const run = data?.latest
  return (
    <Paper component="section" withBorder px="md" py="xs" mb="md" aria-label="Sample">
      <Group justify="space-between" gap="xs">
        <Text size="sm" flex="1 1 20rem" className="wrap" role="status" component="div">
          <strong>{sample.name}</strong> is for trying out Gantry: its pipeline deploys a small page to this
          machine.{' '}
          {run && (
            <>
              <Link href={`/actions/${run.id}`}>Run #{run.id}</Link>{' '}
              <StatusBadge status={run.status} label={run.status_reason_human_readable} />
            </>
          )}
          {run?.status === 'completed' && data?.path && (
            <div>
              The page is now at <code>{data.path}</code>
            </div>
          )}
        </Text>
        <Group gap="xs">
          {run?.status === 'completed' && (
            <Button component={Link} href={`/actions/${run.id}`} size="xs">
              Open the result
            </Button>
          )}
          {data && <RunSample {...data} />}
          <GuardedButton
            permission="organization:remove"
            scope={{ organization: sample.id }}
            size="xs"
            variant="default"
            onClick={() => setRemoving(true)}
          >
            Remove the sample
          </GuardedButton>
        </Group>
      </Group>
      {isRemoving && (
        <Suspense fallback={null}>
          <RemoveDialog
            what="organization"
            name={sample.name}
            id={sample.id}
            isTyped={false}
            onRemoved={() => void queries.invalidateQueries()}
            close={() => setRemoving(false)}
          >
            Your own organizations are not affected.
          </RemoveDialog>
        </Suspense>
      )}
    </Paper>
  )
}

type Sample = NonNullable<ReturnType<typeof useSample>['data']>

function RunSample({ pipelineId, scope, path, latest }: Sample) {
  const api = useApi()
  const refetch = useRefetch()
  const { allowed, reason } = usePermission('pipeline:run', scope)
  const { mutate, isPending } = useMutation({
    mutationFn: () => api.post('/pipelines/{id}/actions', { params: { path: { id: pipelineId } }, body: {} }),
    onSuccess: () => refetch(queryKeys.setup('sample')),
    onError: notify.problem,
  })
  const isRunning = latest !== null && !hasEnded(latest.status)
  return (
    <ReasonedButton
      size="xs"
      variant={latest?.status === 'completed' ? 'default' : 'filled'}
      icon={Play}
      reason={!allowed ? reason : path === undefined ? 'The sample has no server: add one to it.' : undefined}
      loading={isPending || isRunning}
      onClick={() => mutate()}
    >
      {latest ? 'Run the sample again' : 'Run the sample'}
    </ReasonedButton>
  )
}

/** Its deploy pipeline, the last deploy, and where that is; nothing once somebody took it apart. */
function useSample(organizationId: number) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.setup('sample', organizationId),
    queryFn: async ({ signal }) => {
      const query = { type: 'pipeline', within: `organization:${organizationId}`, per_page: 1 }
      const [pipeline] = await api.get('/names', { params: { query }, signal })
      if (pipeline?.resource_type !== 'application' || pipeline.resource_id === null) return null
      const application = await api.get('/applications/{id}', {
        params: { path: { id: pipeline.resource_id } },
        signal,
      })
      const serverId = application.linked_resources[0]?.resource_id
      const server =
        serverId === undefined
          ? undefined
          : await api.get('/servers/{id}', { params: { path: { id: serverId } }, signal })
      return {
        pipelineId: Number(pipeline.id),
        scope: {
          organization: organizationId,
          project: pipeline.project_id,
          environment: pipeline.environment_id,
        },
        latest: application.last_deployments.latest,
        path: server && `${server.root_directory}/${application.folder}/current/index.html`,
      }
    },
  })
}
