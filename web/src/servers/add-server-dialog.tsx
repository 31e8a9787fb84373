import { Text } from '@mantine/core'
import { useLocation } from 'wouter'
import { useApi } from '../api/services.ts'
import type { EnvironmentChoice } from '../scope/environment-choice.ts'
import { EnvironmentField } from '../scope/environment-field.tsx'
import { useEnvironmentChoice } from '../scope/use-environment-choice.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { Loading } from '../ui/page.tsx'
import { Dialog } from '../ui/parts.tsx'
import { ServerFields } from './server-fields.tsx'
import {
  NEW_SERVER,
  SERVER_LABELS,
  type ServerRecord,
  type ServerValues,
  serverBody,
} from './server-input.ts'
import { useInventoryChanged } from './servers.ts'

type AddServerDialogProps = {
  /** Otherwise that of the scope, or the first one. */
  environmentId?: number | undefined
  close(): void
}

export function AddServerDialog({ environmentId, close }: AddServerDialogProps) {
  const { choices, choice, reason, setChosen } = useEnvironmentChoice('server:add', environmentId)
  if (!choices || !choice)
    return (
      <Dialog title="Add server" close={close} size="lg">
        {choices ? (
          <Text>There is no environment that you can add a server to.</Text>
        ) : (
          <Loading what="environments" />
        )}
      </Dialog>
    )
  const given = { choices, choice, reason, close }
  return <AddServerForm {...given} choose={setChosen} />
}

type AddServerFormProps = {
  choices: EnvironmentChoice[]
  choice: EnvironmentChoice
  reason: string | undefined
  choose(environment: number): void
  close(): void
}

function AddServerForm({ choices, choice, reason, choose, close }: AddServerFormProps) {
  const api = useApi()
  const changed = useInventoryChanged()
  const [, navigate] = useLocation()
  const form = useRecordForm<ServerValues, ServerRecord>({
    id: 'server-new',
    initial: NEW_SERVER,
    save: (values) =>
      api.post('/environments/{id}/servers', {
        params: { path: { id: choice.environment } },
        body: serverBody(values),
      }),
    onSaved({ id, name }) {
      close()
      notify.done(`Server ${name} added.`)
      void changed()
      // Its page tests the connection at once.
      navigate(`/servers/${id}`, { state: { isNew: true } })
    },
  })
  return (
    <FormDialog
      title="Add server"
      form={form}
      submit="Add server"
      labels={SERVER_LABELS}
      reason={reason}
      close={close}
    >
      <EnvironmentField
        choices={choices}
        choice={choice}
        onChange={(environment) => {
          // Credentials belong to one organization.
          form.set('credential_id', '')
          choose(environment)
        }}
      />
      <ServerFields form={form} organizationId={choice.organization} isNew />
    </FormDialog>
  )
}
