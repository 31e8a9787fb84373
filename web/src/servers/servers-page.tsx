import { PageHeader } from '../ui/page.tsx'

export default function ServersPage() {
  return <PageHeader title="Servers" />
}
