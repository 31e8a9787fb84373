import { PageHeader } from '../ui/page.tsx'

export default function ServerPage({ id }: { id: string }) {
  return <PageHeader title={`Server #${id}`} />
}
