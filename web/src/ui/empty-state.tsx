import { Paper, Stack, Text } from '@mantine/core'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

type EmptyStateProps = { icon: LucideIcon; title: string; children?: ReactNode; action?: ReactNode }

/** What a list says while nothing is in it, with the button that changes that. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs">
        <Icon size={28} strokeWidth={1.5} aria-hidden="true" className="dimmed" />
        <Text fw={600}>{title}</Text>
        {children && (
          <Text size="sm" className="dimmed" ta="center" maw="32rem">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  )
}
