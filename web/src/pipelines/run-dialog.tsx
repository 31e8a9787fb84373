import { Button, Checkbox, Group, NativeSelect, Paper, Stack, Textarea, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { useLocation } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline, RunBody, RunPlan } from '../api/types.ts'
import { ErrorAlert } from '../ui/page.tsx'
import { Dialog } from '../ui/parts.tsx'
import { plural } from '../ui/status.ts'
import { usePlan } from './pipelines.ts'
import { EMPTY_INPUT, type RunInput, toBody } from './run-input.ts'

export function RunDialog({ pipeline, close }: { pipeline: Pipeline; close(): void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm<RunInput>({ initialValues: EMPTY_INPUT })
  const isDeploy = pipeline.operation === 'deploy'
  const servers = usePlan(pipeline.id, {}).data?.targets ?? []
  const ids = servers.map((target) => target.resource_id)
  const body = toBody(form.values, isDeploy, ids)
  const run = useMutation({
    mutationFn: () => api.post('/pipelines/{id}/actions', { params: { path: { id: pipeline.id } }, body }),
    onSuccess({ id }) {
      void queries.invalidateQueries({ queryKey: queryKeys.recentRuns(pipeline.id) })
      notifications.show({ message: `Started ${pipeline.name} #${id}` })
      navigate(`/actions/${id}`)
    },
  })
  return (
    <Dialog close={close} title={`Run ${pipeline.name}`} size="lg">
      <form onSubmit={form.onSubmit(() => run.mutate())}>
        <Stack gap="sm">
          {isDeploy && <SourceFields form={form} />}
          {servers.length > 1 && (
            <Checkbox.Group
              label="Servers"
              value={ids.filter((id) => !form.values.excluded.includes(id)).map(String)}
              onChange={(selected) =>
                form.setFieldValue(
                  'excluded',
                  ids.filter((id) => !selected.includes(String(id))),
                )
              }
            >
              <Group gap="md">
                {servers.map(({ resource_id, resource_data }) => (
                  <Checkbox key={resource_id} value={String(resource_id)} label={resource_data.name} />
                ))}
              </Group>
            </Checkbox.Group>
          )}
          <TextInput label="Comment" maxLength={255} {...form.getInputProps('comment')} />
          <Textarea
            label="Variables"
            description="One name=value per line. Steps see each as GANTRY_VAR_NAME."
            rows={2}
            {...form.getInputProps('variables')}
          />
          <Preview pipelineId={pipeline.id} body={body} />
          {run.error && <ErrorAlert error={run.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={run.isPending} disabled={body.servers?.length === 0}>
              Run
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function SourceFields({ form }: { form: UseFormReturnType<RunInput> }) {
  return (
    <Group grow align="end">
      <NativeSelect
        label="Type"
        data={[
          { value: 'deploy', label: 'Deploy' },
          { value: 'redeploy', label: 'Redeploy the live commit' },
          { value: 'rollback', label: 'Roll back' },
        ]}
        {...form.getInputProps('type')}
      />
      {form.values.type === 'deploy' && (
        <>
          <NativeSelect
            label="Source"
            data={['branch', 'tag', 'commit']}
            {...form.getInputProps('sourceType')}
          />
          <TextInput label="Name" placeholder="default branch" {...form.getInputProps('sourceRef')} />
        </>
      )}
    </Group>
  )
}

function Preview({ pipelineId, body }: { pipelineId: number; body: RunBody }) {
  const { data, error } = usePlan(pipelineId, useDeferredValue(body))
  return (
    <Paper withBorder p="sm" role="status">
      {error ? <ErrorAlert error={error} /> : data ? <Plan plan={data} /> : 'Planning…'}
    </Paper>
  )
}

function Plan({ plan }: { plan: RunPlan }) {
  const { source, targets } = plan
  const batches = new Set(targets.map((target) => target.batch)).size
  const steps = targets[0]?.steps ?? []
  return (
    <>
      <strong>
        {plural(targets.length, 'server')}
        {batches > 1 && ` in ${batches} batches`}, {plural(steps.length, 'step')} each
      </strong>
      {source?.source_ref && (
        <div>
          {source.type} {source.source_type} <code>{source.source_ref}</code>{' '}
          {source.commit_hash && <code>{source.commit_hash.slice(0, 8)}</code>}
        </div>
      )}
      {plan.would_wait !== null && (
        <div>
          Will queue behind earlier runs{' '}
          {plan.would_wait === 'WAITING_CONCURRENCY_TARGET' ? 'on the server' : 'of this pipeline'}
        </div>
      )}
      <div className="dimmed">{targets.map((target) => target.resource_data.name).join(', ')}</div>
      <div className="dimmed">{steps.map((step) => step.name).join(' → ')}</div>
    </>
  )
}
