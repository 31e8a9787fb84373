import { Braces, GitCommitHorizontal, Hash, type LucideIcon, MessageSquare, Rocket } from 'lucide-react'
import type { Receiver } from '#web/base/api/types.ts'
import { Tiles } from '#web/resources/hooks/tiles.tsx'
import { needsApplication } from './receiver-values.ts'

const ICONS: Record<string, LucideIcon> = {
  github_deployment: Rocket,
  slack_message: Hash,
  slack_webhook: Hash,
  generic: Braces,
}

type ReceiverTilesProps = { receivers: Receiver[]; choose(receiver: Receiver): void }

export function ReceiverTiles({ receivers, choose }: ReceiverTilesProps) {
  const other = (receiver: Receiver) => (needsApplication(receiver) ? GitCommitHorizontal : MessageSquare)
  return (
    <Tiles
      label="Receivers"
      services={receivers}
      iconOf={(receiver) => ICONS[receiver.code] ?? other(receiver)}
      textOf={kindOf}
      choose={choose}
    />
  )
}

/** What it gets, in a word: the description follows once it is chosen. */
function kindOf(receiver: Receiver): string {
  if (receiver.code === 'generic') return 'Signed JSON about every change'
  if (receiver.code === 'github_deployment') return 'Deployment of the commit'
  if (needsApplication(receiver)) return 'Status of the commit'
  return receiver.uses_access_token ? 'One message per run' : 'Message for each event'
}
