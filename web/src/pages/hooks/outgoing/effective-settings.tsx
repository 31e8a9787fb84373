// What a hook with a preset sends, and the way to change it.
import { Alert, Box, Button, Code, Group } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { CopyButton, Dimmed, SectionCard } from '#web/base/ui/parts.tsx'
import classes from './outgoing.module.css'
import { ejectChanges } from './preset-kind.ts'
import { useReceivers } from './receivers.ts'

type UnfitCredentialProps = { hook: Hook; kind: string }

/** Nothing while the credential fits the preset. That of the application can change at any time. */
export function UnfitCredential({ hook, kind }: UnfitCredentialProps) {
  const service = useServiceName(kind)
  if (hook.effective_settings !== null) return null
  return (
    <Alert color="orange" title="Nothing can be sent" role="status" mb="md">
      The credential does not fit. Select one of {service} in the settings.
    </Alert>
  )
}

function useServiceName(kind: string): string {
  return useReceivers().data?.find(({ code }) => code === kind)?.name ?? 'the service'
}

type EffectiveSettingsProps = { hook: Hook; kind: string; mayEdit: boolean }

export function EffectiveSettings({ hook, kind, mayEdit }: EffectiveSettingsProps) {
  const [isEjecting, setEjecting] = useState(false)
  const service = useServiceName(kind)
  if (hook.effective_settings === null) return null
  const shown = JSON.stringify(hook.effective_settings, null, 2)
  return (
    <div className="section">
      <SectionCard id="effective" title="What it sends">
        <Group justify="space-between" gap="xs" mb="xs" align="start" wrap="nowrap">
          <Dimmed>Gantry writes these requests, and keeps them up to date.</Dimmed>
          <Box flex="none">
            <CopyButton size="compact-xs" text={() => shown} label="Copy what it sends" />
          </Box>
        </Group>
        {/* What scrolls must be reachable by keyboard. */}
        <Code block mah="22rem" tabIndex={0} role="region" aria-label="Effective settings">
          {shown}
        </Code>
        {mayEdit && (
          <Group justify="flex-end" mt="md">
            <Button variant="default" onClick={() => setEjecting(true)}>
              Make it an ordinary hook
            </Button>
          </Group>
        )}
      </SectionCard>
      {isEjecting && (
        <EjectDialog hook={hook} kind={kind} service={service} close={() => setEjecting(false)} />
      )}
    </div>
  )
}

type EjectDialogProps = { hook: Hook; kind: string; service: string; close(): void }

function EjectDialog({ hook, kind, service, close }: EjectDialogProps) {
  const api = useApi()
  const refetch = useRefetch()
  return (
    <ConfirmDialog
      title="Make it an ordinary hook?"
      button="Make it ordinary"
      act={() => api.post('/hooks/outgoing/{hook_id}/eject', { params: { path: { hook_id: hook.id } } })}
      done={`${hook.name} is an ordinary hook now.`}
      onDone={() => refetch(queryKeys.hook('outgoing', hook.id))}
      close={close}
    >
      <ul className={classes.steps}>
        {ejectChanges(kind, service).map((change) => (
          <li key={change}>{change}</li>
        ))}
      </ul>
      Unsaved changes on this page are lost. To use the preset again, add another hook.
    </ConfirmDialog>
  )
}
