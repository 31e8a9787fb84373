import { Checkbox, MultiSelect, NativeSelect, TextInput } from '@mantine/core'
import { OPERATIONS } from '#client/index.ts'
import { queryKeys, useAll, useRefetch } from '#web/base/api/queries.ts'
import type { EnvironmentRecord } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { EditDialog } from '#web/base/ui/dialog.tsx'
import { notify } from '#web/base/ui/notify.ts'
import {
  type ApprovalValues,
  approvalBody,
  approvalField,
  approvalValues,
  approverOf,
} from './approval-input.ts'

type ApprovalDialogProps = { environment: EnvironmentRecord; close(): void }

export default function ApprovalDialog({ environment: { id, name }, close }: ApprovalDialogProps) {
  const key = [...queryKeys.environment(id), 'approval']
  const query = useVersioned(key, '/environments/{id}', { params: { path: { id } } })
  return (
    <EditDialog title={`Approval in ${name}`} what="environment" query={query} close={close}>
      {({ record, version }) => <ApprovalForm environment={record} version={version} close={close} />}
    </EditDialog>
  )
}

type ApprovalFormProps = { environment: EnvironmentRecord; version: string | null; close(): void }

function ApprovalForm({ environment, version, close }: ApprovalFormProps) {
  const refetch = useRefetch()
  const { id, name } = environment
  const valuesOf = ({ approval }: EnvironmentRecord) => approvalValues(approval)
  const form = useRecordForm<ApprovalValues, EnvironmentRecord>({
    id: `approval-${id}`,
    initial: valuesOf(environment),
    fields: approvalField,
    version,
    ...useStored('/environments/{id}', { path: { id } }, valuesOf, approvalBody),
    async onSaved() {
      close()
      notify.done(`Approval in ${name} saved.`)
      await refetch(queryKeys.environment(id), queryKeys.overview(), queryKeys.waitingForYou)
    },
  })
  const scope = environmentScope(environment)
  return (
    <FormDialog
      title={`Approval in ${name}`}
      form={form}
      submit="Save changes"
      needs={{ permission: 'environment:edit', scope }}
      close={close}
    >
      <NativeSelect
        label="Before a run starts"
        description="Stricter settings apply to runs that have not started, looser ones to new runs."
        data={[
          { value: 'no', label: 'No one has to approve it' },
          { value: 'yes', label: 'People approve what it ships' },
        ]}
        {...form.field('needed')}
      />
      {form.values.needed === 'yes' && <ApprovalFields form={form} organizationId={scope.organization} />}
    </FormDialog>
  )
}

type FieldsProps = { form: RecordForm<ApprovalValues>; organizationId: number }

function ApprovalFields({ form, organizationId }: FieldsProps) {
  return (
    <>
      <div className="columns">
        <TextInput label="Approvals" inputMode="numeric" {...form.field('required')} />
        <TextInput
          label="Expires after (minutes)"
          description="10080 are 7 days."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          inputMode="numeric"
          {...form.field('expires_after_minutes')}
        />
      </div>
      <NativeSelect
        label="Who may approve"
        data={[
          { value: 'everyone', label: 'Everyone with the permission action:approve' },
          { value: 'listed', label: 'Of those, these people and roles' },
        ]}
        {...form.field('from')}
      />
      {form.values.from === 'listed' && <ApproversField form={form} organizationId={organizationId} />}
      <Checkbox
        label="People who started the run, or wrote what a hook ships, cannot approve it"
        {...form.field('not_the_starter', 'checkbox')}
      />
      <MultiSelect
        label="Operations"
        placeholder={form.values.operations.length === 0 ? 'All' : ''}
        data={Object.entries(OPERATIONS).map(([value, label]) => ({ value, label }))}
        clearable
        {...form.field('operations')}
      />
      <Checkbox
        label="Rollbacks always need approval"
        description="Otherwise only those that run other steps, commands or variables than the last run."
        {...form.field('rollbacks', 'checkbox')}
      />
    </>
  )
}

const BUILT_IN = [
  { value: 'owner', label: 'Owners' },
  { value: 'admin', label: 'Admins' },
]

/** Names are known to people who may view the members; others keep what is listed. */
function ApproversField({ form, organizationId }: FieldsProps) {
  const params = { path: { id: organizationId } }
  const members = useAll([...queryKeys.members(organizationId), 'approvers'], '/organizations/{id}/members', {
    params,
    retry: false,
  })
  const roles = useAll([...queryKeys.members(organizationId), 'roles'], '/organizations/{id}/roles', {
    params,
    retry: false,
  })
  const known = [
    ...BUILT_IN,
    ...(roles.data ?? []).map(({ id, name }) => ({ value: approverOf('role', id), label: name })),
    ...(members.data ?? []).map(({ user }) => ({ value: approverOf('user', user.id), label: user.name })),
  ]
  const unknown = form.values.approvers.filter((one) => !known.some(({ value }) => value === one))
  return (
    <MultiSelect
      label="People and roles"
      data={[...known, ...unknown.map((value) => ({ value, label: value.replace(' ', ' #') }))]}
      searchable
      {...form.field('approvers')}
    />
  )
}
