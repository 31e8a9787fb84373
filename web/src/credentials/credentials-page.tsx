import { PageHeader } from '../ui/page.tsx'

export default function CredentialsPage() {
  return <PageHeader title="Credentials" />
}
