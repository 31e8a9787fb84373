// What a hook with a preset sends, and the way to change it.
import { Alert, Button, Code, Group, Text } from '@mantine/core'
import { useState } from 'react'
import type { Hook } from '../../api/types.ts'
import { CopyButton, SectionCard } from '../../ui/parts.tsx'
import { EjectDialog } from './eject-dialog.tsx'
import { useReceivers } from './receivers.ts'

type EffectiveSettingsProps = { hook: Hook; kind: string; mayEdit: boolean }

export function EffectiveSettings({ hook, kind, mayEdit }: EffectiveSettingsProps) {
  const [isEjecting, setEjecting] = useState(false)
  const service = useReceivers().data?.find(({ code }) => code === kind)?.name ?? 'the service'
  const { effective_settings } = hook
  if (effective_settings === null)
    return (
      <div className="section">
        <Alert color="orange" title="Nothing can be sent">
          The credential does not fit: select one of {service}.
        </Alert>
      </div>
    )
  const shown = JSON.stringify(effective_settings, null, 2)
  return (
    <div className="section">
      <SectionCard id="effective" title="What it sends">
        <Group justify="space-between" gap="xs" mb="xs" align="start" wrap="nowrap">
          <Text size="sm" className="dimmed">
            Gantry writes these requests, and keeps them up to date.
          </Text>
          <CopyButton size="compact-xs" text={() => shown} label="Copy what it sends" />
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
