export default function Page() {
  return <p>To come</p>
}
