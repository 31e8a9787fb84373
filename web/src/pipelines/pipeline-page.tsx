export default function Page(_: { id?: string; type?: string }) {
  return <p>To come</p>
}
