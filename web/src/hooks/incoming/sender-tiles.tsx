import { Paper, Text, UnstyledButton } from '@mantine/core'
import {
  Activity,
  Bug,
  Container,
  CreditCard,
  GitBranch,
  ListTodo,
  LockOpen,
  type LucideIcon,
  MessageSquare,
  ShoppingBag,
  SquareTerminal,
  Webhook,
} from 'lucide-react'
import type { Sender } from './new-hook-body.ts'
import classes from './new-incoming-hook.module.css'

const ICONS: Record<string, LucideIcon> = {
  github: GitBranch,
  gitlab: GitBranch,
  gitea: GitBranch,
  forgejo: GitBranch,
  bitbucket: GitBranch,
  shopify: ShoppingBag,
  sentry: Bug,
  linear: ListTodo,
  grafana: Activity,
  stripe: CreditCard,
  slack: MessageSquare,
  docker_hub: Container,
  generic: SquareTerminal,
  unsigned: LockOpen,
}

type SenderTilesProps = { senders: Sender[]; choose(sender: Sender): void }

export function SenderTiles({ senders, choose }: SenderTilesProps) {
  return (
    <ul className={`plain-list ${classes.tiles}`} aria-label="Senders">
      {senders.map((sender) => {
        const Icon = ICONS[sender.code] ?? Webhook
        return (
          <li key={sender.code}>
            <UnstyledButton className={classes.tile} onClick={() => choose(sender)}>
              <Paper withBorder p="md" h="100%" component="span" display="block">
                <span className={classes.name}>
                  <Icon size={18} strokeWidth={1.75} aria-hidden="true" />
                  {sender.name}
                </span>
                <Text component="span" size="sm" className="dimmed" lineClamp={2}>
                  {sender.description}
                </Text>
              </Paper>
            </UnstyledButton>
          </li>
        )
      })}
    </ul>
  )
}
