// Replaced by the dashboard.
new EventSource("/api/events").addEventListener("snapshot", (event) => {
  document.getElementById("app").textContent = event.data;
});
