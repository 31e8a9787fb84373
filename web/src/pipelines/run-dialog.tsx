import { Alert, Button, Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { useLocation } from 'wouter'
import { Refusal } from '../api/api.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline, RunPlan } from '../api-types.ts'
import { Dialog } from '../shell/dialog.tsx'
import classes from './pipelines.module.css'
import { NO_WISH, type RunBody, toBody, type Wish } from './run-wish.ts'
import { usePlan } from './use-plan.ts'

export function RunDialog({ pipeline, close }: { pipeline: Pipeline; close(): void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [wish, setWish] = useState<Wish>(NO_WISH)
  const change = (part: Partial<Wish>) => setWish((now) => ({ ...now, ...part }))
  const isDeploy = pipeline.operation === 'deploy'
  const servers = usePlan(pipeline.id, {}).data?.targets ?? []
  const ids = servers.map((target) => target.resource_id)
  const body = toBody(wish, isDeploy, ids)
  const run = useMutation({
    mutationFn: () => api.ask('POST /pipelines/{id}/actions', { path: { id: pipeline.id }, body }),
    onSuccess(action) {
      void queries.invalidateQueries({ queryKey: ['last-runs', pipeline.id] })
      navigate(`/actions/${action.id}`)
    },
  })

  return (
    <Dialog close={close} title={`Run ${pipeline.name}`} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate()
        }}
      >
        <Stack gap="sm">
          {isDeploy && <Source wish={wish} change={change} />}
          {servers.length > 1 && (
            <Checkbox.Group
              label="Servers"
              value={ids.filter((id) => !wish.without.includes(id)).map(String)}
              onChange={(chosen) => change({ without: ids.filter((id) => !chosen.includes(String(id))) })}
            >
              <div className={classes.servers}>
                {servers.map((target) => (
                  <Checkbox
                    key={target.resource_id}
                    value={String(target.resource_id)}
                    label={target.resource_data.name}
                  />
                ))}
              </div>
            </Checkbox.Group>
          )}
          <TextInput
            label="Comment"
            maxLength={255}
            value={wish.comment}
            onChange={(event) => change({ comment: event.currentTarget.value })}
          />
          <Textarea
            label="Variables"
            description="One name=value in each line; steps see them as GANTRY_VAR_NAME."
            rows={2}
            value={wish.variables}
            onChange={(event) => change({ variables: event.currentTarget.value })}
          />
          <Preview pipelineId={pipeline.id} body={body} />
          {run.error && <Faults error={run.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Leave it
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

function Source({ wish, change }: { wish: Wish; change(part: Partial<Wish>): void }) {
  return (
    <Group grow align="end">
      <NativeSelect
        label="What"
        value={wish.type}
        onChange={(event) => change({ type: event.currentTarget.value as Wish['type'] })}
        data={[
          { value: 'deploy', label: 'Deploy' },
          { value: 'redeploy', label: 'Deploy the live commit again' },
          { value: 'rollback', label: 'Roll back' },
        ]}
      />
      {wish.type === 'deploy' && (
        <>
          <NativeSelect
            label="From"
            value={wish.sourceType}
            onChange={(event) => change({ sourceType: event.currentTarget.value as Wish['sourceType'] })}
            data={['branch', 'tag', 'commit']}
          />
          <TextInput
            label="Name"
            placeholder="the default branch"
            value={wish.sourceRef}
            onChange={(event) => change({ sourceRef: event.currentTarget.value })}
          />
        </>
      )}
    </Group>
  )
}

function Preview({ pipelineId, body }: { pipelineId: number; body: RunBody }) {
  const { data, error } = usePlan(pipelineId, useDeferredValue(body))
  return (
    <div className={classes.plan} role="status">
      {error ? <Faults error={error} /> : data ? <Plan plan={data} /> : 'Planning…'}
    </div>
  )
}

function Plan({ plan }: { plan: RunPlan }) {
  const { source, targets } = plan
  const batches = new Set(targets.map((target) => target.batch)).size
  return (
    <>
      <strong>
        {targets.length} {targets.length === 1 ? 'server' : 'servers'}
        {batches > 1 && ` in ${batches} batches`}, {targets[0]?.steps.length ?? 0} steps each
      </strong>
      {source?.source_ref && (
        <div>
          {source.type} of {source.source_type} <code>{source.source_ref}</code>{' '}
          {source.commit_hash && <code>{source.commit_hash.slice(0, 8)}</code>}
        </div>
      )}
      {plan.would_wait_human_readable && <div>It would wait: {plan.would_wait_human_readable}</div>}
      <div className="quiet">{targets.map((target) => target.resource_data.name).join(', ')}</div>
      <div className="quiet">{targets[0]?.steps.map((step) => step.name).join(' → ')}</div>
    </>
  )
}

function Faults({ error }: { error: Error }) {
  const fields = error instanceof Refusal ? Object.entries(error.fields) : []
  return (
    <Alert color="red" variant="light" role="alert">
      {error.message}
      {fields.map(([field, faults]) => (
        <div key={field}>
          <code>{field}</code> {faults.join('; ')}
        </div>
      ))}
    </Alert>
  )
}
