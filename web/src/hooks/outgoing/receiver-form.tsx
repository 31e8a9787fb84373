import { Alert, PasswordInput, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { entrySteps } from '#client/index.ts'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook, Receiver } from '../../api/types.ts'
import { usePermissions } from '../../session/permissions.ts'
import { RecordForm } from '../../ui/form/record-form.tsx'
import { type RecordForm as FormState, useRecordForm } from '../../ui/form/use-record-form.ts'
import { notify } from '../../ui/notify.ts'
import type { ChosenPipeline } from '../pipeline-field.tsx'
import type { CreatedHookProps } from './created-hook.tsx'
import classes from './outgoing.module.css'
import {
  hiddenFields,
  hookOf,
  initialValues,
  inputOf,
  type ReceiverValues,
  validateReceiver,
} from './receiver-values.ts'

const HANDED_OVER_WITHIN_MS = 15_000

type ReceiverFormProps = {
  receiver: Receiver
  pipeline: ChosenPipeline | undefined
  back(): void
  /** The person may add hooks, but not see them: there is no page to go to. */
  onUnseen(created: CreatedHookProps): void
}

export function ReceiverForm({ receiver, pipeline, back, onUnseen }: ReceiverFormProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const may = usePermissions()
  const form = useRecordForm<ReceiverValues, Hook>({
    id: `outgoing-hook-new-${receiver.code}`,
    initial: initialValues(receiver),
    secrets: hiddenFields(receiver),
    validate: (values) => validateReceiver(receiver, values),
    fields: (field) => inputOf(receiver, field),
    save: (values) =>
      api.post('/pipelines/{id}/hooks/outgoing', {
        params: { path: { id: pipeline!.id } },
        body: hookOf(receiver, values),
      }),
    onSaved(hook) {
      notify.done(`Hook ${hook.name} added.`)
      const created = { hook, secret: hook.secret, receiver }
      if (!pipeline?.scope || !may('hook:view', pipeline.scope)) return onUnseen(created)
      void queries.invalidateQueries({ queryKey: queryKeys.hooks(hook.pipeline_id) })
      void queries.invalidateQueries({ queryKey: queryKeys.environmentHooks(hook.environment_id) })
      // Handed to the page of the hook in memory: the secret is shown once, and stored nowhere. If that page does not
      // open, it is forgotten.
      queries.setQueryDefaults(queryKeys.createdHook(hook.id), { gcTime: HANDED_OVER_WITHIN_MS })
      queries.setQueryData(queryKeys.createdHook(hook.id), created)
      navigate(`/hooks/outgoing/${hook.id}`)
    },
  })
  return (
    <div className={classes.receiver}>
      <RecordForm
        form={form}
        submit="Create hook"
        cancel={() => form.leaveBy(back)}
        reason={reasonNot(receiver, pipeline, may)}
      >
        {receiver.fields.map((field, index) => (
          <Field key={field.name} field={field} form={form} isFirst={index === 0} />
        ))}
        <TextInput label="Name" maxLength={60} autoComplete="off" {...form.field('name')} />
        {receiver.uses_access_token && (
          <Alert color="blue">
            The hook sends the token of the application’s credential, on your behalf. This requires the
            permission credential:run.
          </Alert>
        )}
      </RecordForm>
      <div>
        <Text size="sm" fw={600} mb={4}>
          At {receiver.code === 'generic' ? 'the receiver' : receiver.name}
        </Text>
        <ol className={classes.steps}>
          {entrySteps(receiver, { secret: 'that is shown next' }).map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </div>
    </div>
  )
}

/** Only what is known for sure: the API decides. */
function reasonNot(
  { uses_access_token }: Receiver,
  pipeline: ChosenPipeline | undefined,
  may: ReturnType<typeof usePermissions>,
): string | undefined {
  if (!pipeline) return 'Choose a pipeline first.'
  if (uses_access_token && pipeline.resourceType === 'server')
    return 'Commit statuses need an application: this pipeline belongs to a server.'
  if (!pipeline.scope || may('hook:add', pipeline.scope)) return undefined
  return 'Your role does not include hook:add. Ask an administrator of the organization for it.'
}

type FieldProps = { field: Receiver['fields'][number]; form: FormState<ReceiverValues>; isFirst: boolean }

function Field({
  field: { name, label, description, required, example, hidden },
  form,
  isFirst,
}: FieldProps) {
  const props = {
    label: required ? label : `${label}, optional`,
    description,
    autoComplete: hidden ? 'new-password' : 'off',
    spellCheck: false,
    // Choosing a receiver continues here.
    autoFocus: isFirst,
    ...form.field(`fields.${name}`),
  }
  if (!hidden) return <TextInput {...props} placeholder={example ?? undefined} />
  return <PasswordInput {...props} visibilityToggleButtonProps={{ 'aria-label': `Show ${label}` }} />
}
