// What a hook with a preset sends, and the way to change it.
import { Alert, Box, Button, Code, Group, Text } from '@mantine/core'
import { useState } from 'react'
import type { Hook } from '../../api/types.ts'
import { CopyButton, SectionCard } from '../../ui/parts.tsx'
import { EjectDialog } from './eject-dialog.tsx'
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
          <Text size="sm" className="dimmed">
            Gantry writes these requests, and keeps them up to date.
          </Text>
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
