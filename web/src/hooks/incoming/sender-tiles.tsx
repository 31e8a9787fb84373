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
import { Tiles } from '../tiles.tsx'
import type { Sender } from './new-hook-body.ts'

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
    <Tiles
      label="Senders"
      services={senders}
      iconOf={({ code }) => ICONS[code] ?? Webhook}
      textOf={({ description }) => description}
      choose={choose}
    />
  )
}
