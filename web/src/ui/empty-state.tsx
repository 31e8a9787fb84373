import { Group, Paper, Stack, Text } from '@mantine/core'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

type EmptyStateProps = {
  icon: LucideIcon
  title: string
  children?: ReactNode
  action?: ReactNode
  /** One of several lists on a page: a row rather than a box. */
  isCompact?: boolean
}

/** What a list says while nothing is in it, with the button that changes that. */
export function EmptyState({ icon: Icon, title, children, action, isCompact = false }: EmptyStateProps) {
  if (isCompact)
    return (
      <Paper withBorder px="md" py="xs">
        <Group justify="space-between" gap="xs" mih="2.125rem">
          <Text size="sm" className="dimmed" flex="1 1 16rem">
            {title}. {children}
          </Text>
          {action}
        </Group>
      </Paper>
    )
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
