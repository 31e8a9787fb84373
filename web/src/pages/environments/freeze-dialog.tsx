import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { EnvironmentRecord, Freeze } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '#web/base/form/use-record-form.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { notify } from '#web/base/ui/notify.ts'
import { DAYS, type FreezeValues, freezeBody, freezeField, freezeValues } from './freeze-input.ts'

type FreezeDialogProps = { environment: EnvironmentRecord; freeze?: Freeze; close(): void }

/** A new freeze of an environment, or an existing one. */
export default function FreezeDialog({ environment, freeze, close }: FreezeDialogProps) {
  const api = useApi()
  const refetch = useRefetch()
  const [initial] = useState(() => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
    return freezeValues(freeze, new Date(), timeZone)
  })
  const { id, name } = environment
  const form = useRecordForm<FreezeValues, Freeze>({
    id: freeze ? `freeze-${freeze.id}` : `freeze-new-${id}`,
    initial,
    fields: freezeField,
    save: (values) =>
      freeze
        ? api.put('/freezes/{id}', { params: { path: { id: freeze.id } }, body: freezeBody(values) })
        : api.post('/environments/{id}/freezes', { params: { path: { id } }, body: freezeBody(values) }),
    async onSaved(saved) {
      close()
      notify.done(`Freeze ${saved.name} saved.`)
      await refetch(queryKeys.freezes())
    },
  })
  return (
    <FormDialog
      title={freeze ? `Edit ${freeze.name}` : `Add freeze to ${name}`}
      form={form}
      submit={freeze ? 'Save changes' : 'Add freeze'}
      needs={{ permission: 'environment:edit', scope: environmentScope(environment) }}
      close={close}
    >
      <TextInput label="Name" data-autofocus {...form.field('name')} />
      <Textarea
        label="Reason"
        description="For everyone whose runs wait."
        rows={2}
        spellCheck
        {...form.field('reason')}
      />
      <NativeSelect
        label="Repeats"
        data={[
          { value: 'once', label: 'Once' },
          { value: 'weekly', label: 'Every week' },
        ]}
        {...form.field('repeats')}
      />
      {form.values.repeats === 'once' ? <OnceFields form={form} /> : <WeeklyFields form={form} />}
      <NativeSelect
        label="When it is over"
        data={[
          { value: 'all', label: 'All runs that it held start' },
          { value: 'latest', label: 'Of each branch, only the newest run of a hook starts' },
        ]}
        {...form.field('when_over')}
      />
    </FormDialog>
  )
}

type FieldsProps = { form: RecordForm<FreezeValues> }

function OnceFields({ form }: FieldsProps) {
  return (
    <div className="columns">
      <TextInput type="datetime-local" label="Starts" {...form.field('starts_at')} />
      <TextInput
        type="datetime-local"
        label="Ends (optional)"
        description="Otherwise it holds until someone ends it."
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        {...form.field('ends_at')}
      />
    </div>
  )
}

const DAY_OPTIONS = Object.entries(DAYS).map(([value, label]) => ({ value, label }))

function WeeklyFields({ form }: FieldsProps) {
  return (
    <>
      <div className="columns">
        <NativeSelect label="From day" data={DAY_OPTIONS} {...form.field('from_day')} />
        <TextInput type="time" label="From time" {...form.field('from_time')} />
        <NativeSelect label="To day" data={DAY_OPTIONS} {...form.field('to_day')} />
        <TextInput type="time" label="To time" {...form.field('to_time')} />
      </div>
      <TextInput label="Time zone" placeholder="Europe/Berlin" {...form.field('time_zone')} />
    </>
  )
}
