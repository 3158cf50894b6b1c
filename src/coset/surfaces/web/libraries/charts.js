// What chart.js uses of Chart.js: bars, lines and dots, with their axes.
import { BarController, BarElement, CategoryScale, Chart, Legend, LinearScale, LineController, LineElement, PointElement,
  ScatterController, Tooltip } from "chart.js";

Chart.register(BarController, BarElement, CategoryScale, Legend, LinearScale, LineController, LineElement, PointElement,
  ScatterController, Tooltip);
export { Chart };
