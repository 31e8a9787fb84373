import { PageHeader } from '../ui/page.tsx'

export default function ApplicationPage({ id }: { id: string }) {
  return <PageHeader title={`Application #${id}`} />
}
