import { PageHeader } from '../ui/page.tsx'

export default function AuditPage() {
  return <PageHeader title="Audit" />
}
