import { PageHeader } from '../ui/page.tsx'

export default function NewApplicationPage() {
  return <PageHeader title="Add application" />
}
