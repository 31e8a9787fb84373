import { TextInput } from '@mantine/core'
import { useApi } from '../api/services.ts'
import type { Organization } from '../api/types.ts'
import { useScope } from '../scope/scope.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { useTreeChanged } from './tree-changed.ts'

export function AddOrganizationDialog({ close }: { close(): void }) {
  const api = useApi()
  const changed = useTreeChanged()
  const [, setScope] = useScope()
  const form = useRecordForm<{ name: string }, Organization>({
    id: 'organization-new',
    initial: { name: '' },
    save: ({ name }) => api.post('/organizations', { body: { name: name.trim() } }),
    async onSaved({ id, name }) {
      close()
      notify.done(`Organization ${name} added.`)
      await changed()
      setScope({ organization: id })
    },
  })
  return (
    <FormDialog title="Add organization" form={form} submit="Add organization" close={close}>
      <TextInput
        label="Name"
        description="You become its owner."
        autoComplete="off"
        data-autofocus
        {...form.field('name')}
      />
    </FormDialog>
  )
}
