import { lazy } from 'react'
import { NotFound } from '../ui/page.tsx'

const IncomingHookPage = lazy(() => import('./incoming/incoming-hook-page.tsx'))
const OutgoingHookPage = lazy(() => import('./outgoing/outgoing-hook-page.tsx'))

export default function HookPage({ type, id }: { type: string; id: string }) {
  if (type === 'incoming') return <IncomingHookPage id={id} />
  if (type === 'outgoing') return <OutgoingHookPage id={id} />
  return <NotFound what="hook" />
}
