// The unsaved hook against one call: what it would do, and the form that changes it.
import { Alert, Loader, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Data } from '#client/index.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { plural } from '#web/base/ui/status.ts'
import { PipelineLink } from '#web/resources/pipelines/pipeline-link.tsx'
import classes from './call-drawer.module.css'
import { CallConditionsField, VariablesField } from './call-fields.tsx'
import { HOOK_LABELS, type HookValues, receptionOf } from './hook-values.ts'
import type { HookForm } from './use-hook-form.ts'

type TryOutProps = { what: 'call' | 'payload'; hook: Hook; form: HookForm; source: DryRunSource }

export function TryOut({ what, hook, form, source }: TryOutProps) {
  return (
    <section aria-labelledby="try-out">
      <Text component="h3" id="try-out" fw={600} mb="xs">
        {`This ${what}, with ${form.isDirty ? 'your changes' : 'the hook as it is now'}`}
      </Text>
      <DryRunResult hook={hook} values={form.values} source={source} />
      <RecordForm form={form} submit="Save changes" labels={HOOK_LABELS}>
        <VariablesField form={form} />
        <CallConditionsField form={form} />
      </RecordForm>
    </section>
  )
}

type DryRun = Data<'post', '/hooks/incoming/{hook_id}/dry-run'>

/** A recorded call, or a payload. */
type DryRunSource = { hook_request_id: string } | { body: unknown }

const DELAY_MS = 350

type DryRunResultProps = { hook: Hook; values: HookValues; source: DryRunSource }

/** Follows what is typed. Nothing starts, nothing is recorded. */
function DryRunResult({ hook, values, source }: DryRunResultProps) {
  const api = useApi()
  const reception = JSON.stringify(receptionOf(values))
  const [debounced] = useDebouncedValue(reception, DELAY_MS)
  const { data, error, isFetching } = useQuery({
    queryKey: queryKeys.dryRun(hook.id, source, debounced),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api.post('/hooks/incoming/{hook_id}/dry-run', {
        params: { path: { hook_id: hook.id } },
        body: { ...source, ...JSON.parse(debounced) },
        signal,
      }),
  })
  const isStale = isFetching || debounced !== reception
  return (
    <div className={classes.result} aria-live="polite" aria-busy={isStale}>
      {error ? (
        <ErrorAlert error={error} title="These changes cannot be tried" />
      ) : data ? (
        <Verdict run={data} hook={hook} isStale={isStale} />
      ) : (
        <Loader size="sm" aria-label="Trying" />
      )}
    </div>
  )
}

const COLORS: Record<string, string> = { accepted: 'teal', ignored: 'gray', ping: 'gray' }

const TITLES: Record<string, string> = {
  accepted: 'Would start a run',
  ignored: 'Would be ignored',
  ping: 'Ping',
}

function Verdict({ run, hook, isStale }: { run: DryRun; hook: Hook; isStale: boolean }) {
  const variables = Object.entries(run.variables ?? {})
  const [first] = run.targets
  return (
    <Alert
      color={COLORS[run.verdict] ?? 'red'}
      title={TITLES[run.verdict] ?? 'Would be rejected'}
      style={{ opacity: isStale ? 0.7 : 1 }}
    >
      {run.verdict === 'accepted' && first ? (
        <>
          <PipelineLink id={hook.pipeline_id} />
          {run.source && ` from ${run.source.source_type} ${run.source.source_ref}`} on{' '}
          {run.targets.length === 1 ? first.resource_name : plural(run.targets.length, 'server')},{' '}
          {plural(first.steps.length, 'step')}
        </>
      ) : (
        run.message
      )}
      {run.verdict === 'ignored' && <UnmetConditions run={run} />}
      {run.errors && <Values of={Object.entries(run.errors).map(([name, all]) => [name, all.join('; ')])} />}
      {variables.length > 0 && <Values of={variables.map(([name, value]) => [name, shown(value)])} />}
    </Alert>
  )
}

/** Which conditions are not met, and why; the sentence above names the first. */
function UnmetConditions({ run }: { run: DryRun }) {
  const unmet = run.conditions.filter(({ met }) => !met)
  return (
    <ul className={classes.unmet} aria-label="Unmet conditions">
      {unmet.map(({ condition, reason, group }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its position
        <li key={index}>
          <code>{condition}</code>: {reason} {group.map((one) => `${one.condition}: ${one.reason}`).join(' ')}
        </li>
      ))}
    </ul>
  )
}

function Values({ of }: { of: [string, string][] }) {
  return (
    <table className={classes.values} aria-label="Variables of this call">
      <tbody>
        {of.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const MAX_SHOWN = 300

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}
