import { PasswordInput, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { usePermission } from '../../session/permissions.ts'
import { RecordForm } from '../../ui/form/record-form.tsx'
import { useRecordForm } from '../../ui/form/use-record-form.ts'
import type { ChosenPipeline } from '../pipeline-field.tsx'
import {
  hiddenFields,
  initialValues,
  missingFields,
  newHookBody,
  type Sender,
  type SenderValues,
  senderInputOf,
} from './new-hook-body.ts'

type SenderFormProps = {
  sender: Sender
  pipeline: ChosenPipeline | undefined
  back?: (() => void) | undefined
  onCreated(hook: Hook, values: SenderValues): void
}

/** Only what the sender needs; its tile has the rest. */
export function SenderForm({ sender, pipeline, back, onCreated }: SenderFormProps) {
  const api = useApi()
  const queries = useQueryClient()
  const form = useRecordForm<SenderValues, Hook>({
    id: `hook-new-${sender.code}`,
    initial: initialValues(sender),
    secrets: hiddenFields(sender) as (keyof SenderValues & string)[],
    validate: (values) => missingFields(sender, values),
    fields: senderInputOf,
    save: (values) => {
      const params = { path: { id: pipeline!.id } }
      return api.post('/pipelines/{id}/hooks/incoming', { params, body: newHookBody(sender, values) })
    },
    onSaved(hook, values) {
      void queries.invalidateQueries({ queryKey: queryKeys.hooks(hook.pipeline_id) })
      void queries.invalidateQueries({ queryKey: queryKeys.environmentHooks(hook.environment_id) })
      onCreated(hook, values)
    },
  })
  const { allowed, reason } = usePermission('hook:add', pipeline?.scope)
  const isKnown = pipeline?.scope !== undefined
  return (
    <RecordForm
      form={form}
      submit="Create hook"
      cancel={back && (() => form.leaveBy(back))}
      reason={pipeline ? (isKnown && !allowed ? reason : undefined) : 'Choose a pipeline first.'}
    >
      <TextInput label="Name" {...form.field('name')} />
      {sender.fields.map(({ name, label, description, required, example, hidden }) => {
        const Field = hidden ? PasswordInput : TextInput
        return (
          <Field
            key={name}
            label={required ? label : `${label}, optional`}
            description={description}
            placeholder={hidden ? undefined : (example ?? undefined)}
            autoComplete={hidden ? 'new-password' : 'off'}
            {...form.field(`field_${name}`)}
          />
        )
      })}
    </RecordForm>
  )
}
