// The inputs of a server. Used where a server is added or changed, and in the guided setup of an application.
import { NumberInput, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { useSession } from '#web/base/session/session.ts'
import { MoreOptions } from '#web/base/ui/more-options.tsx'
import { KeyField } from '#web/resources/credentials/key-field.tsx'
import { type ServerValues, withAddress, withRoot } from './server-input.ts'
import classes from './servers.module.css'

type ServerFieldsProps = {
  form: RecordForm<ServerValues>
  organizationId: number
  /** The connection of an existing server cannot be changed. */
  isNew?: boolean
}

export function ServerFields({ form, organizationId, isNew = false }: ServerFieldsProps) {
  const { values } = form
  const isSsh = values.provider_code === 'ssh'
  const change = (changed: Partial<ServerValues>) => {
    const after = withRoot(values, changed)
    for (const [name, value] of Object.entries(changed)) form.set(name as 'name', value as string)
    form.set('root_directory', after.root_directory)
  }
  return (
    <Stack gap="md">
      {isNew && (
        <ConnectionField value={values.provider_code} onChange={(code) => change({ provider_code: code })} />
      )}
      <TextInput label="Name" data-autofocus {...form.field('name')} />
      {isSsh && (
        <>
          <div className={classes.hostRow}>
            <TextInput
              label="Host"
              placeholder="web-1.example.com, or host:port"
              {...form.field('host')}
              onBlur={() => {
                const after = withAddress(values)
                for (const name of ['host', 'port', 'login_name', 'root_directory'] as const)
                  if (after[name] !== values[name]) form.set(name, after[name])
              }}
            />
            <TextInput
              label="Login"
              {...form.field('login_name')}
              onChange={(event) => change({ login_name: event.currentTarget.value })}
            />
          </div>
          <KeyField
            organizationId={organizationId}
            value={values.credential_id}
            onChange={(id) => form.set('credential_id', id)}
            error={form.errors.credential_id ?? undefined}
            serverName={values.name}
            login={values.login_name}
          />
        </>
      )}
      <TextInput
        label="Root directory"
        description="Applications are deployed below it. Gantry creates it if the account may."
        {...form.field('root_directory')}
      />
      <MoreOptions
        isOpen={['port', 'host_key', 'worker_name', 'max_parallel_actions'].some((name) => form.errors[name])}
      >
        {isSsh && (
          <>
            <NumberInput label="Port" min={1} max={65_535} hideControls {...form.field('port')} />
            <TextInput
              label="Host key (optional)"
              description="A public key (ssh-ed25519 AAAA…) or a fingerprint (SHA256:…). Without it, the key of the first connection is pinned."
              {...form.field('host_key')}
            />
          </>
        )}
        {!isSsh && (
          <TextInput
            label="Worker (optional)"
            description="The name of the worker on that machine. Only needed when workers run on several machines."
            {...form.field('worker_name')}
          />
        )}
        <NumberInput
          label="Max concurrent runs"
          description="0 = unlimited"
          min={0}
          max={10_000}
          {...form.field('max_parallel_actions')}
        />
      </MoreOptions>
    </Stack>
  )
}

type ConnectionFieldProps = {
  value: ServerValues['provider_code']
  onChange(value: ServerValues['provider_code']): void
}

function ConnectionField({ value, onChange }: ConnectionFieldProps) {
  const { isInstanceAdmin: isAdmin } = useSession()
  return (
    <div>
      <SegmentedControl
        fullWidth
        aria-label="Connection"
        transitionDuration={0}
        value={value}
        onChange={(next) => onChange(next as ServerValues['provider_code'])}
        data={[
          { value: 'ssh', label: 'Over SSH' },
          { value: 'local', label: 'This machine', disabled: !isAdmin },
        ]}
      />
      {!isAdmin && (
        <Text size="xs" className="dimmed" mt={4}>
          Only instance administrators add the machine that Gantry runs on.
        </Text>
      )}
    </div>
  )
}
